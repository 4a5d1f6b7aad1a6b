package daemon

import (
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// Status is what the daemon knows about itself at one moment. It is never changed once it
// is handed out. It holds no secret.
type Status struct {
	Node    string           `json:"node"`
	Version string           `json:"version"`
	Started time.Time        `json:"started"`
	Source  datastore.Status `json:"source"`
	// Config is how conf.d and the templates were loaded last.
	Config ConfigStatus `json:"config"`
	// Problems are those of the newest data, of the configuration and of the targets.
	Problems []calico.Problem `json:"problems"`
	Targets  []TargetStatus   `json:"targets"`
	// Renders counts how often all targets were rendered.
	Renders uint64 `json:"renders"`
}

// ConfigStatus is how conf.d and the templates were loaded.
type ConfigStatus struct {
	// OK tells that what was loaded last is in use. Otherwise the one before it is, or
	// none.
	OK bool `json:"ok"`
	// LoadedAt is when what is in use was loaded; zero when nothing is.
	LoadedAt time.Time `json:"loadedAt,omitzero"`
	Loads    uint64    `json:"loads"`
	Failures uint64    `json:"failures"`
}

// TargetStatus is how one BIRD daemon and its files are doing.
type TargetStatus struct {
	Name string `json:"name"`
	// Family is IPv4, IPv6 or both.
	Family    string `json:"family"`
	Directory string `json:"directory"`
	// Socket is "" when the result of a reload cannot be known.
	Socket string `json:"socket,omitempty"`
	// Desired identifies the set that was rendered last, Applied the one that BIRD took
	// last; "" when there is none yet. They differ while something is left to do.
	Desired string `json:"desired"`
	Applied string `json:"applied"`
	// PendingSince is since when the two differ; zero when they do not.
	PendingSince time.Time `json:"pendingSince,omitzero"`
	AppliedAt    time.Time `json:"appliedAt,omitzero"`
	// Last is the last attempt; nil before the first.
	Last *Attempt `json:"last,omitempty"`
	// Failures counts the attempts since the last that succeeded, and RetryAt is when the
	// next one is due.
	Failures int       `json:"failures"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
	// Held is why the newest set is not applied yet; nil when it is not held.
	Held *Held `json:"held,omitempty"`
	// Withheld tells that there is nothing to apply, because of a problem; what was applied
	// before stays.
	Withheld bool       `json:"withheld,omitempty"`
	BIRD     BIRDStatus `json:"bird"`
	// GracefulRestart is nil where the daemon cannot be watched.
	GracefulRestart *GracefulRestart `json:"gracefulRestart,omitempty"`
	// Outcomes counts attempts by what became of them, Reloads by "ok", "unconfirmed",
	// "refused", "unreachable" and "unknown".
	Outcomes map[apply.Outcome]uint64 `json:"outcomes"`
	Reloads  map[string]uint64        `json:"reloads"`
	// views are what the newest set was rendered from, for telling where sessions come from.
	views bgp.Views
}

// Attempt is one try to apply a set.
type Attempt struct {
	At       time.Time     `json:"at"`
	Duration time.Duration `json:"durationNanoseconds"`
	Outcome  apply.Outcome `json:"outcome"`
	// Words are BIRD's own, or those of the command that reloaded it.
	Words string `json:"words,omitempty"`
	// Confirmed tells that BIRD itself said that it runs the configuration.
	Confirmed bool `json:"confirmed"`
	// Error is what went wrong, "" when nothing did.
	Error string `json:"error,omitempty"`
}

// Held is an answer that the guard does not believe yet.
type Held struct {
	Since time.Time `json:"since"`
	// Until is when it is applied if it stays the same.
	Until time.Time `json:"until"`
	// Lost of Before sessions would go.
	Lost   int `json:"lost"`
	Before int `json:"before"`
	// Reason is a sentence for people.
	Reason string `json:"reason"`
}

// BIRDStatus is what is known of the daemon without asking it.
type BIRDStatus struct {
	// Watched tells that the daemon can be watched, for which its socket must be known.
	Watched bool   `json:"watched"`
	Up      bool   `json:"up"`
	Version string `json:"version,omitempty"`
	// Since is when it was seen to come up or go down; zero before that.
	Since time.Time `json:"since,omitzero"`
	// Starts counts how often it was seen to come up.
	Starts uint64 `json:"starts"`
}

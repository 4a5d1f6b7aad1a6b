package apply

import "context"

// Conditions are what sets are applied under.
type Conditions struct {
	// Permit is asked right before files are replaced, or the daemon is made to read them; an
	// error of it ends the transaction, with nothing done. Nil permits everything.
	Permit func(context.Context) error
	// NoTrial has sets applied for good even where they would be put on trial.
	NoTrial bool
	// Running tells that sets are for a daemon that runs, and not what one should start with.
	// Nothing vouches for such sets, nor for what is in place meanwhile; see Inspect.
	Running bool
}

// Under changes what sets are applied under from now on.
func (a *Applier) Under(c Conditions) {
	if a.conditions = c; c.Running {
		a.vouch("", false)
	}
}

// permitted asks for permission.
func (a *Applier) permitted(ctx context.Context) error {
	if a.conditions.Permit == nil {
		return nil
	}
	return a.conditions.Permit(ctx)
}

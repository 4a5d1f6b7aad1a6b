package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// load loads conf.d and the templates. What was loaded before stays if that fails.
func (l *loop) load(ctx context.Context) {
	l.notifier.Reloading()
	defer l.notifier.Reloaded()
	l.loading.Loads++
	config, problems := l.o.Load()
	l.loadProblems = problems
	broken := calico.HasErrors(problems)
	if config == nil || broken && len(l.targets) > 0 {
		l.loading.OK = false
		l.loading.Failures++
		l.log.Error("configuration or templates do not load; what was loaded before stays in use", "problems", len(problems))
		return
	}
	// At the start a part is better than nothing.
	l.loading.OK, l.loading.LoadedAt = !broken, time.Now()
	if broken {
		l.loading.Failures++
		l.log.Error("a part of the configuration does not load, and is left out", "problems", len(problems), "targets", len(config.Targets))
	}
	if l.loading.Loads > 1 {
		l.log.Info("loaded configuration and templates", "targets", len(config.Targets))
	}
	l.adopt(ctx, config)
	if l.computed != nil {
		l.causes = mergeCauses(l.causes, []string{"configuration or templates loaded anew"})
	}
	if l.snapshot != nil {
		l.pace.change(time.Now())
	}
}

// adopt makes the targets those of a configuration. Workers whose target stays the same go
// on, with other templates perhaps.
func (l *loop) adopt(ctx context.Context, config *render.Config) {
	old := l.targets
	l.targets = make([]*target, len(config.Targets))
	for i, c := range config.Targets {
		l.targets[i] = takeTarget(&old, c)
	}
	for _, t := range old {
		what := "the target is no longer taken care of; its files stay as they are"
		if slices.ContainsFunc(config.Targets, func(c render.TargetConfig) bool { return c.Name == t.config.Name }) {
			what = "the target is described in another way now"
		}
		l.log.Info(what, "target", t.config.Name, "directory", t.config.Directory)
		t.stop()
	}
	for i, c := range config.Targets {
		if l.targets[i] == nil {
			l.targets[i] = l.startTarget(ctx, c, old)
		}
		l.targets[i].config = c
	}
}

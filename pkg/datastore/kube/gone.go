package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// When a custom resource is removed, the API server first deletes all its objects, and tells
// each watcher so. None of these deletions was meant for BIRD.

// doom notes that an object is said to be deleted.
func (w *watcher) doom(key string) {
	w.mu.Lock()
	w.doomed[key] = time.Now()
	w.mu.Unlock()
	select {
	case w.judge <- struct{}{}:
	default:
	}
}

// judgeDoomed lets go of deleted objects once it is clear that their resource stays.
func (w *watcher) judgeDoomed(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.judge:
		}
		wait := w.feed.o.Settle
		for w.some() {
			if !live.Sleep(ctx, live.Jitter(wait, 0.5)) {
				return
			}
			if !w.judgeOnce(ctx) {
				wait = min(2*wait, longestRetry)
			}
		}
		// Nothing waits for an answer any more, and the watch may have been there all the time.
		if !w.leaving.Load() && w.doubted.Swap(false) && w.open.Load() > 0 {
			w.found()
		}
	}
}

func (w *watcher) some() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.doomed) > 0
}

// judgeOnce reports whether deletions are believed.
func (w *watcher) judgeOnce(ctx context.Context) bool {
	asked := time.Now()
	p, err := w.ask()
	if ctx.Err() != nil {
		return false
	}
	if err != nil || p != served {
		w.doubt(err)
	}
	if err != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p != served {
		// A list tells what there is. The watch may end by itself, with the resource, but not
		// if the answer was wrong.
		clear(w.doomed)
		w.cut()
		return true
	}
	for key, since := range w.doomed {
		// What was deleted just before the question may have been in vain.
		if asked.Sub(since) >= w.feed.o.Settle/2 {
			delete(w.doomed, key)
			delete(w.dropped, key)
			delete(w.kept, key)
			w.part.Remove(key, "")
		}
	}
	return true
}

var errLeaving = errors.New("the resource is being removed from the API server")

// goneProblem says that a resource is gone.
func (w *watcher) goneProblem() calico.Problem {
	return calico.Problem{Severity: calico.Error, Rule: calico.RuleNotInstalled,
		Message: fmt.Sprintf("the API server does not have %s.%s any more; the %d that are known stay in use", w.plural, w.gv.Group, w.part.Len()),
		Hint:    "install Calico's CRDs again"}
}

// notFound tells what it means that the server does not know the resource: that it is gone, or
// that there never was one, and so no object either.
func (w *watcher) notFound(ctx context.Context) (p calico.Problem, empty bool) {
	if w.part.Len() > 0 {
		p = w.goneProblem()
		if to := w.feed.clients.moved(ctx, w.gv); to != w.gv {
			p.Hint = fmt.Sprintf("if Calico's resources have moved to %s, restart birdconfd, which stays with %s until then", to, w.gv)
		}
		return p, false
	}
	now, err := w.ask()
	if err == nil && now == absent && w.young {
		return calico.Problem{Severity: calico.Warning, Rule: calico.RuleNotInstalled,
			Message: fmt.Sprintf("the API server does not have %s.%s, though others of that group; there are none, as far as this is concerned", w.plural, w.gv.Group),
			Hint:    "install Calico's CRDs in full"}, true
	}
	return calico.Problem{Severity: calico.Error, Rule: calico.RuleNotInstalled,
		Message: fmt.Sprintf("the API server does not have %s.%s, without which nothing is rendered", w.plural, w.gv.Group),
		Hint:    "install Calico's CRDs"}, false
}

// believable makes sure that a list which lacks objects that are known is not one of a
// resource that is being removed.
func (w *watcher) believable(items []live.Item) error {
	if !w.custom || !w.part.Lacks(items) {
		return nil
	}
	p, err := w.ask()
	if err == nil && p == served {
		return nil
	}
	return w.doubt(err)
}

// doubt reports that deletions are not believed: since the server is removing the resource, or
// because it does not tell. It returns the reason.
func (w *watcher) doubt(err error) error {
	w.doubted.Store(true)
	switch {
	case err == nil:
		w.leaving.Store(true)
		err = fmt.Errorf("%s: %w", w.plural, errLeaving)
		w.lost(err, w.goneProblem())
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("find out whether %s stay: %w", w.plural, plainError(err))
		w.lost(err, calico.Problem{Severity: calico.Error, Rule: calico.RuleForbidden,
			Message: fmt.Sprintf("the API server does not let this account see what resources it has, so that it is not known whether %s stay; what is deleted stays in use", w.name),
			Hint:    "the ClusterRole system:discovery has what is needed, and usually everybody has that"})
	default:
		err = fmt.Errorf("find out whether %s stay: %w", w.plural, plainError(err))
		w.lost(err)
	}
	return err
}

func isEmpty(list runtime.Object) bool { return meta.LenList(list) == 0 }

// unlabelled looks for affinities of the node that have no labels, as an older Calico wrote
// them. It only does so where there are none with labels.
func (w *watcher) unlabelled(ctx context.Context, none runtime.Object) (runtime.Object, error) {
	out, ok := none.(*unstructured.UnstructuredList)
	if !ok {
		return none, nil
	}
	next := metav1.ListOptions{Limit: 500, LabelSelector: "!" + hostnameLabel}
	for {
		page, err := w.lister.list(ctx, next)
		if err != nil {
			return nil, err
		}
		list := page.(*unstructured.UnstructuredList)
		for _, a := range list.Items {
			if node, _, _ := unstructured.NestedString(a.Object, "spec", "node"); node == w.feed.o.Node {
				out.Items = append(out.Items, a)
			}
		}
		if next.Continue = list.GetContinue(); next.Continue == "" {
			return out, nil
		}
	}
}

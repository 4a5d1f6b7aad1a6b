package calico

import (
	"fmt"
	"slices"
	"strings"
)

// Annotations of a BGPConfiguration that stand for fields which no shipped CRD has, so
// that an API server would drop the fields.
const (
	ownAnnotations    = "birdconfd/"
	waitAnnotation    = ownAnnotations + "graceful-restart-wait"
	waitForAnnotation = ownAnnotations + "graceful-restart-wait-for"
)

// readOwnAnnotations takes the values of annotations where the fields are unset.
func (o *object) readOwnAnnotations(c *BGPConfiguration) {
	o.checkOwnAnnotations(waitAnnotation, waitForAnnotation)
	if s, ok := o.meta.Annotations[waitAnnotation]; ok {
		wait, f := parseWait(s)
		switch {
		case f != nil:
			o.badAnnotation(waitAnnotation, s, f)
		case c.GracefulRestartWait == nil:
			c.GracefulRestartWait = &wait
		case *c.GracefulRestartWait != wait:
			o.overruled(waitAnnotation, s, "spec.gracefulRestartWait")
		}
	}
	if s, ok := o.meta.Annotations[waitForAnnotation]; ok {
		switch f := notOneOf(s, waitForWords); {
		case s != string(WaitForReadyNodes) && s != string(WaitForAllPeers):
			o.badAnnotation(waitForAnnotation, s, f)
		case c.GracefulRestartWaitFor == "":
			c.GracefulRestartWaitFor = WaitFor(s)
		case c.GracefulRestartWaitFor != WaitFor(s):
			o.overruled(waitForAnnotation, s, "spec.gracefulRestartWaitFor")
		}
	}
}

// checkOwnAnnotations warns of annotations with our prefix that mean nothing.
func (o *object) checkOwnAnnotations(known ...string) {
	for _, key := range sortedKeys(o.meta.Annotations) {
		if strings.HasPrefix(key, ownAnnotations) && !slices.Contains(known, key) {
			o.report(Warning, RuleAnnotation, annotationPath(key), "the annotation means nothing here; it is ignored", DidYouMean(key, known))
		}
	}
}

func (o *object) badAnnotation(key, text string, f *fault) {
	o.report(Error, f.rule, annotationPath(key), fmt.Sprintf("%s %s; the annotation is ignored", quote(text), f.what), f.hint)
}

func (o *object) overruled(key, text, field string) {
	o.report(Warning, RuleAnnotation, annotationPath(key),
		fmt.Sprintf("%s is not what %s says; the field counts", quote(text), field), "remove the annotation, or make it say the same")
}

func annotationPath(key string) string { return "metadata.annotations[" + plain(key) + "]" }

package extension

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
)

// Observe implements operon.Observer.
func (c *Composer) Observe(ctx context.Context, of *v1.ClusterExtension, seen *operon.Observed) error {
	p := c.passes.End(of)
	if p == nil || !p.complete {
		return nil // Compose failed
	}
	if p.unwanted != nil {
		if err := c.client.Delete(ctx, p.unwanted, client.Preconditions{UID: &p.unwanted.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s, which is not wanted any more: %w", p.unwanted.Name, err)
		}
	}
	if reason, message, failed := seen.Unapplied(); failed && p.reason == "" {
		p.reason, p.message = v1.ReasonRetrying, reason+": "+message
	}
	if p.reason == v1.ReasonRollingOut {
		seen.NotReady(p.reason, p.message)
	}
	c.installed(of, p)
	if left := c.progressing(of, p); left > 0 {
		seen.RequeueAfter(left)
	}
	c.deprecations(of, p)
	return nil
}

// installed reports which version is installed.
func (c *Composer) installed(of *v1.ClusterExtension, p *pass) {
	csv := p.versions.installed
	switch {
	case csv != nil:
		of.Status.Install = &v1.InstallStatus{Bundle: v1.BundleMetadata{Name: csv.Name, Version: csv.Spec.Version}}
		c.set(of, v1.Installed, metav1.ConditionTrue, v1.ReasonSucceeded, fmt.Sprintf("Installed bundle %s successfully", csv.Name))
	case p.reason == v1.ReasonRetrying || p.reason == v1.ReasonBlocked:
		of.Status.Install = nil
		c.set(of, v1.Installed, metav1.ConditionFalse, v1.ReasonFailed, "No bundle installed: "+p.message)
	default:
		of.Status.Install = nil
		c.set(of, v1.Installed, metav1.ConditionFalse, v1.ReasonAbsent, "No bundle installed")
	}
}

// progressing reports why the version that should be installed is not. It returns how long to wait until the deadline, or 0.
func (c *Composer) progressing(of *v1.ClusterExtension, p *pass) time.Duration {
	switch p.reason {
	case "":
		c.set(of, v1.Progressing, metav1.ConditionTrue, v1.ReasonSucceeded, "Desired state reached")
		return 0
	case v1.ReasonBlocked:
		c.set(of, v1.Progressing, metav1.ConditionFalse, p.reason, p.message)
		return 0
	}
	left := c.left(of)
	if left < 0 {
		c.set(of, v1.Progressing, metav1.ConditionFalse, v1.ReasonProgressDeadlineExceeded,
			fmt.Sprintf("not completed within %d minutes: %s", of.Spec.ProgressDeadlineMinutes, p.message))
		return 0
	}
	c.set(of, v1.Progressing, metav1.ConditionTrue, p.reason, p.message)
	return left
}

// left returns how much time is left until the deadline: less than 0 if it has passed, and 0 if there is none. The time counts from when Progressing
// was no longer Succeeded, or the ClusterExtension was changed.
func (c *Composer) left(of *v1.ClusterExtension) time.Duration {
	limit := time.Duration(of.Spec.ProgressDeadlineMinutes) * time.Minute
	before := meta.FindStatusCondition(of.Status.States, v1.Progressing)
	switch {
	case limit == 0:
		return 0
	case before == nil || before.ObservedGeneration != of.Generation || before.Reason == v1.ReasonSucceeded || before.Reason == v1.ReasonBlocked:
		meta.RemoveStatusCondition(&of.Status.States, v1.Progressing) // its time of transition is now, although its status may be the same
		return limit
	case before.Reason == v1.ReasonProgressDeadlineExceeded:
		return -1
	}
	if left := limit - c.Clock.Since(before.LastTransitionTime.Time); left > 0 {
		return left
	}
	return -1
}

// deprecations reports what the catalog says about the package and the channels of a ClusterExtension, and about the installed version.
func (c *Composer) deprecations(of *v1.ClusterExtension, p *pass) {
	from, filter := p.from, of.Spec.Source.Catalog
	if from == nil {
		for _, kind := range []string{v1.Deprecated, v1.PackageDeprecated, v1.ChannelDeprecated} {
			c.set(of, kind, metav1.ConditionUnknown, v1.ReasonDeprecationUnknown, unknown)
		}
		c.bundleUnknown(of, p)
		return
	}
	pkg, channel, bundle := from.deprecations(schemaPackage), from.deprecations(schemaChannel, filter.Channels...), ""
	c.deprecated(of, v1.PackageDeprecated, pkg)
	c.deprecated(of, v1.ChannelDeprecated, channel)
	if installed := p.versions.installed; installed != nil {
		bundle = from.deprecations(schemaBundle, installed.Name)
		c.deprecated(of, v1.BundleDeprecated, bundle)
	} else {
		c.bundleUnknown(of, p)
	}
	var all []string
	for _, one := range []string{pkg, channel, bundle} {
		if one != "" {
			all = append(all, one)
		}
	}
	c.deprecated(of, v1.Deprecated, strings.Join(all, "; "))
}

const unknown = "deprecation status unknown: no ClusterCatalog with the package was read"

// bundleUnknown reports that it is not known whether the installed version is deprecated, or that there is none.
func (c *Composer) bundleUnknown(of *v1.ClusterExtension, p *pass) {
	reason, message := v1.ReasonAbsent, "no bundle installed yet"
	if p.versions.installed != nil {
		reason, message = v1.ReasonDeprecationUnknown, unknown
	}
	c.set(of, v1.BundleDeprecated, metav1.ConditionUnknown, reason, message)
}

func (c *Composer) deprecated(of *v1.ClusterExtension, kind, message string) {
	if message == "" {
		c.set(of, kind, metav1.ConditionFalse, v1.ReasonNotDeprecated, "not deprecated")
		return
	}
	c.set(of, kind, metav1.ConditionTrue, v1.ReasonDeprecated, message)
}

// maxMessage is how long the message of a condition may be.
const maxMessage = 32768

func (c *Composer) set(of *v1.ClusterExtension, kind string, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&of.Status.States, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: strings.ToValidUTF8(message[:min(len(message), maxMessage)], ""), ObservedGeneration: of.Generation,
		LastTransitionTime: metav1.NewTime(c.Clock.Now()),
	})
}

package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up"
)

// DefaultTimeout is the maximum time for an operator to become ready, and for Undeploy to remove everything.
const DefaultTimeout = 2 * time.Minute

// maxReplicas is more than any operator needs.
const maxReplicas = 1000

// Target selects the deployment of a project in a cluster.
type Target struct {
	// Dir is the project's directory, and Main the directory of its main package if it has several.
	Dir, Main string
	// Where is the cluster, by default the local one.
	Where up.Where
	// Namespace is the namespace in which the operator runs. The default is its name followed by -system.
	Namespace string
	// Timeout limits the time to wait. The default is DefaultTimeout.
	Timeout time.Duration
	// Progress receives lines about the progress, and warnings. If it is nil, they are discarded.
	Progress io.Writer
	// Quiet leaves out everything but warnings.
	Quiet bool
	// Commands are those that messages refer to. The default is those for the operators of users.
	Commands Commands
}

// Options of Run.
type Options struct {
	Target
	// Image is the container image of the pods. If it is empty, an image is built: for the nodes of a local cluster that runs
	// containers, or for a registry.
	Image string
	// Push is the name under which the built image is pushed to a registry.
	Push string
	// Build are the options of the build. Its Main and Tell are taken from Target.
	Build build.Options
	// Replicas is the number of pods. The default is install.DefaultReplicas.
	Replicas int
	// Shards is the number of shards, which all replicas divide among themselves. If it is 0, one replica leads.
	Shards int
	// Memory is the memory limit of each pod, such as 512Mi. The default is the limit in install.DefaultResources.
	Memory string
	// Watch lists the namespaces to work in. If it is empty, the operator works in all namespaces.
	Watch []string
	// Args are additional arguments of the operator, such as flags that its author defined.
	Args []string
	// PodAnnotations are the annotations of the pods.
	PodAnnotations map[string]string
	// Scratch gives the operator a writable directory /tmp.
	Scratch bool
	// UserRoles are ClusterRoles for users of the operator's kinds, beside its own. The operator's name precedes their names.
	UserRoles []rbacv1.ClusterRole
	// WithoutWebhooks deploys a project whose webhooks need certificates that are not created here.
	WithoutWebhooks bool
	// UnsafeCRDs also applies definitions that break stored objects.
	UnsafeCRDs bool
	// DryRun reports what would be done and does nothing.
	DryRun bool
}

func (t Target) timeout() time.Duration { return cmp.Or(max(t.Timeout, 0), DefaultTimeout) }

// say prints a line about the progress.
func (t Target) say(format string, args ...any) {
	if !t.Quiet {
		t.warn(format, args...)
	}
}

// warn prints a line that users have to know.
func (t Target) warn(format string, args ...any) {
	if t.Progress != nil {
		fmt.Fprintf(t.Progress, format+"\n", args...)
	}
}

// operator returns the project and its operator to install.
func (t Target) operator(image string) (*project.Project, manifests.Operator, error) {
	p, err := project.Read(t.Dir, project.Options{Main: t.Main})
	if err != nil {
		return nil, manifests.Operator{}, err
	}
	o, err := manifests.Of(p, image)
	o.Namespace = cmp.Or(t.Namespace, o.Namespace)
	return p, o, err
}

// Check returns an error if the options about the image and the memory are invalid, before anything is done.
func (o Options) Check() error {
	return errors.Join(o.checkImage(), o.limit(&manifests.Operator{Resources: manifests.DefaultResources()}))
}

// limit sets the memory limit of an operator.
func (o Options) limit(made *manifests.Operator) error {
	if o.Memory == "" {
		return nil
	}
	limit, err := resource.ParseQuantity(o.Memory)
	if err != nil || limit.Sign() <= 0 {
		return fmt.Errorf("--memory %s: want an amount, such as 512Mi", o.Memory)
	}
	made.Resources.Limits[corev1.ResourceMemory] = limit
	if requested := made.Resources.Requests[corev1.ResourceMemory]; requested.Cmp(limit) > 0 {
		made.Resources.Requests[corev1.ResourceMemory] = limit
	}
	return nil
}

func (o Options) checkImage() error {
	switch {
	case o.Image != "" && (o.Push != "" || len(o.Build.Platforms) > 0):
		return errors.New("--push and --platform are for an image that is built, and --image names an existing one: use one or the other")
	case o.Image != "":
		return nil
	case o.Push == "" && !o.Where.IsLocal():
		return errors.New("want --image NAME, or --push NAME to build one: nodes of a cluster that is not local get images from a registry")
	}
	return errors.Join(o.Build.Check(), image.Delivery{Push: o.Push}.Check())
}

// operator returns the project and its operator with the options applied.
func (o Options) operator() (*project.Project, manifests.Operator, error) {
	if err := o.Check(); err != nil {
		return nil, manifests.Operator{}, err
	}
	p, made, err := o.Target.operator(cmp.Or(o.Image, unbuilt))
	if err != nil {
		return nil, made, err
	}
	if err := o.withoutCertificates(p); err != nil {
		return nil, made, err
	}
	made.Watch, made.Shards, made.PodAnnotations, made.Args, made.UserRoles = o.Watch, o.Shards, o.PodAnnotations, o.Args, o.UserRoles
	if err := o.limit(&made); err != nil {
		return nil, made, err
	}
	if o.Replicas > maxReplicas {
		return nil, made, fmt.Errorf("%d replicas: want at most %d", o.Replicas, maxReplicas)
	}
	made.Scratch = made.Scratch || o.Scratch
	if o.Replicas != 0 {
		made.Replicas = int32(o.Replicas)
	}
	return p, made, nil
}

// withoutCertificates rejects webhooks for which no certificates are created: kubebuilder projects use cert-manager and
// kustomize, which are not run here.
func (o Options) withoutCertificates(p *project.Project) error {
	if p.Layout == nil || p.Module.Framework == project.Operon || o.WithoutWebhooks {
		return nil
	}
	for _, kind := range p.Layout.Resources {
		if kind.Webhooks {
			return fmt.Errorf("%s:%d: %s has webhooks whose certificates and registration come from cert-manager and kustomize, which are not run: deploy the project by its own `make deploy`, or give --without-webhooks, which sets ENABLE_WEBHOOKS=false", project.ProjectFile, kind.Line, kind.Kind)
		}
	}
	return nil
}

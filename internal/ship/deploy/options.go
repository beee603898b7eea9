package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up"
)

// DefaultTimeout is how long an operator may take to become ready, and Undeploy to remove everything.
const DefaultTimeout = 2 * time.Minute

// maxReplicas is more than any operator has use for.
const maxReplicas = 1000

// Target says which deployment of which project is meant, in which cluster.
type Target struct {
	// Dir is the project's directory, Main that of its main package where it has several.
	Dir, Main string
	// Where is the cluster, by default the local one.
	Where up.Where
	// Namespace is where the operator runs, by default its name and -system.
	Namespace string
	// Timeout bounds the waiting, by default DefaultTimeout.
	Timeout time.Duration
	// Progress gets lines about what is done. Nil: nothing does.
	Progress io.Writer
}

// Options of Run.
type Options struct {
	Target
	// Image is what the pods run. Where it is empty, one is built: for the nodes of a local cluster that run
	// containers, or for a registry.
	Image string
	// Push is the name under which the image that is built goes to a registry.
	Push string
	// Build says how it is built. Its Main and Tell are Target's.
	Build build.Options
	// Replicas is how many pods there are, by default install.DefaultReplicas.
	Replicas int
	// Shards lets all replicas work, each on some of the shards; 0: one of them leads.
	Shards int
	// Memory is how much each pod may take at most, such as 512Mi, by default what install.DefaultResources says.
	Memory string
	// Watch are the namespaces to work in, none for all.
	Watch []string
	// Args are further arguments of the operator, such as flags of its author's.
	Args []string
	// PodAnnotations are those of the pods.
	PodAnnotations map[string]string
	// WithoutWebhooks deploys a project whose webhooks need certificates that nobody makes here.
	WithoutWebhooks bool
	// UnsafeCRDs applies definitions that break stored objects.
	UnsafeCRDs bool
	// DryRun tells what would be done and does nothing.
	DryRun bool
}

func (t Target) timeout() time.Duration { return cmp.Or(max(t.Timeout, 0), DefaultTimeout) }

func (t Target) say(format string, args ...any) {
	if t.Progress != nil {
		fmt.Fprintf(t.Progress, format+"\n", args...)
	}
}

// operator is what the project is installed as.
func (t Target) operator(image string) (*project.Project, manifests.Operator, error) {
	p, err := project.Read(t.Dir, project.Options{Main: t.Main})
	if err != nil {
		return nil, manifests.Operator{}, err
	}
	o, err := manifests.Of(p, image)
	o.Namespace = cmp.Or(t.Namespace, o.Namespace)
	return p, o, err
}

// Check tells what is wrong with the options about the image and its memory, before anything is done.
func (o Options) Check() error {
	return errors.Join(o.checkImage(), o.limit(&manifests.Operator{Resources: manifests.DefaultResources()}))
}

// limit gives an operator as much memory as it may take.
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

// operator is what is asked for.
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
	made.Watch, made.Shards, made.PodAnnotations, made.Args = o.Watch, o.Shards, o.PodAnnotations, o.Args
	if err := o.limit(&made); err != nil {
		return nil, made, err
	}
	if o.Replicas > maxReplicas {
		return nil, made, fmt.Errorf("%d replicas: want at most %d", o.Replicas, maxReplicas)
	}
	if o.Replicas != 0 {
		made.Replicas = int32(o.Replicas)
	}
	return p, made, nil
}

// withoutCertificates refuses webhooks that nobody makes certificates for: kubebuilder leaves that to
// cert-manager, and to kustomize, which is not run.
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

package up

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// testSuffix is appended to the name of a project that is installed for Options.Use.
const testSuffix = "-test"

// Running is a project that Run has installed and started for Options.Use. Its name in the cluster has the suffix -test, so that it is
// not confused with the same project of `operon up`. Samples are applied only by Ready.
type Running struct{ s *session }

// begin removes what an interrupted Run has left, and refuses to use kinds that something else has installed: their objects
// would be reconciled, too.
func (s *session) begin(ctx context.Context) error {
	left, err := takeInventory(ctx, s.target.config, s.project.Name)
	if err != nil {
		return err
	}
	if others := left.others(s.project.Name); len(others) > 0 {
		return fmt.Errorf("a test was interrupted, and its CustomResourceDefinitions have objects that it did not create: %s; they would be deleted with what the test has left, so delete them yourself, or use another cluster",
			listed(others))
	}
	if !left.empty() {
		s.say("removing what an interrupted test has left")
		if err := s.removeAll(ctx); err != nil {
			return err
		}
		s.installer.Refresh()
	}
	for _, definition := range s.project.CRDs {
		found, err := s.installer.Get(ctx, definition.Unstructured)
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		by := "something else"
		if found.GetLabels()[Label] != "" {
			by = "`operon up`, and `operon down` removes it"
		}
		return fmt.Errorf("%s in %s was installed by %s: a test would change it and the objects of its kind; use another cluster, for example the local one that `--cluster NAME` starts", tree.Address(definition.Unstructured), s.target.title, by)
	}
	return nil
}

// listed returns the addresses of the first of some objects.
func listed(objects []*unstructured.Unstructured) string {
	const most = 3
	var all []string
	for _, object := range objects[:min(len(objects), most)] {
		all = append(all, tree.Address(object))
	}
	if more := len(objects) - most; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// use calls Options.Use.
func (s *session) use(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.gauge.run(ctx, s.notify)
	go s.credentials.keep(ctx, s.renew, func(error) {})
	return s.options.Use(ctx, &Running{s})
}

// remove removes everything that was installed, also if ctx has ended. Finalizers that the operator has not removed are removed.
func (s *session) remove(ctx context.Context) error {
	if !s.began || taken(ctx) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timing.removal, fmt.Errorf("not done after %s", timing.removal))
	defer cancel()
	if err := s.removeAll(ctx); err != nil {
		return fmt.Errorf("remove what the test has installed: %w\nthe next `operon test` removes the rest", err)
	}
	return nil
}

func (s *session) removeAll(ctx context.Context) error {
	r := &remover{options: DownOptions{Out: io.Discard}, name: s.project.Name, dir: s.project.Dir, folder: s.folder, target: s.target}
	r.abandon = func(object *unstructured.Unstructured, finalizers []string) {
		s.say("removed the finalizers %s of %s, because its operator has not", strings.Join(finalizers, ", "), tree.Address(object))
	}
	return r.removeAll(ctx)
}

// Project returns the project.
func (r *Running) Project() *project.Project { return r.s.project }

// Cluster returns the name of the cluster in a sentence.
func (r *Running) Cluster() string { return r.s.target.title }

// Client returns a client of the cluster with the permissions of the user.
func (r *Running) Client() *kube.Client { return r.s.installer.Client }

// Namespace returns the namespace of the operator, which is also that of samples without a namespace.
func (r *Running) Namespace() string { return r.s.installer.namespace }

// Directory returns a directory for files that only this user can read. It stays until the next Run.
func (r *Running) Directory() string { return r.s.folder.path }

// UseNamespace makes a namespace that of samples without a namespace. It is created, and removed with the project, unless it exists.
func (r *Running) UseNamespace(ctx context.Context, name string) error {
	if _, err := r.s.installer.apply(ctx, object("v1", "Namespace", "", name, nil)); err != nil {
		return err
	}
	r.s.installer.namespace = name
	return nil
}

// Kubeconfig returns a kubeconfig with the permissions of the user.
func (r *Running) Kubeconfig() ([]byte, error) {
	config := *r.s.target.raw.DeepCopy()
	if err := clientcmdapi.MinifyConfig(&config); err != nil {
		return nil, err
	}
	if err := clientcmdapi.FlattenConfig(&config); err != nil {
		return nil, err
	}
	return clientcmd.Write(config)
}

// Ready applies the samples and waits until they are ready. It returns the samples as they are then, and an error if one of them
// could not be applied or is not ready in time.
func (r *Running) Ready(ctx context.Context, timeout time.Duration) (nodes []*tree.Node, err error) {
	r.s.options.Timeout = timeout
	if r.s.expected, err = r.s.samples.apply(ctx, r.s.project); err != nil {
		return nil, err
	}
	if r.s.watcher, err = r.s.watch(ctx, r.s.project); err != nil {
		return nil, err
	}
	err = r.s.await(ctx)
	return r.s.sampleNodes(), err
}

// Stop stops the operator.
func (r *Running) Stop() { r.s.operator.stop() }

// Start starts the operator again.
func (r *Running) Start() error { return r.s.startOperator() }

// Endpoint returns the address, HOST:PORT, at which the operator reports its reconciles.
func (r *Running) Endpoint() string { return r.s.operator.ports[1].Address() }

// Ended returns a channel that is closed when the operator ends.
func (r *Running) Ended() <-chan struct{} { return r.s.operator.done() }

// Crash returns the error of an operator that has ended by itself.
func (r *Running) Crash() error { return r.s.crash() }

// Lacks returns lines about the permissions that the operator has lacked so far, or "". objects are objects whose conditions may name them.
// Permissions for events do not count: without them, everything else works.
func (r *Running) Lacks(objects ...*unstructured.Unstructured) string {
	var nodes []*tree.Node
	for _, object := range objects {
		nodes = append(nodes, &tree.Node{Object: object})
	}
	rules := slices.DeleteFunc(r.s.refused.With(reports(nodes)...).Rules(), func(rule rbacv1.PolicyRule) bool {
		return slices.Equal(rule.Resources, []string{"events"})
	})
	problem, lacks := lacking(r.s.project, rules)
	if !lacks {
		return ""
	}
	return strings.Join(append([]string{problem.Title}, indented(problem.Lines)...), "\n")
}

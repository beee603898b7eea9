package operon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/operon-framework/operon/internal/runtime/action"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/runtime/recorder"
)

// embedded maps the managers of other programs to the operators in them.
var embedded = struct {
	mu  sync.Mutex
	all map[ctrl.Manager]*operator
}{all: map[ctrl.Manager]*operator{}}

// AddToManager adds a composer to an existing controller-runtime manager. For example, a kubebuilder project can move to Operon kind by
// kind:
//
//	err := operon.AddToManager(mgr, "memcached-operator", Memcached{})
//
// name is the field manager, and the value of the label app.kubernetes.io/managed-by of children. It must be the same for all
// kinds of the program. The kind's Go type must be in the manager's scheme. Call it before the manager starts.
//
// Caveats: the manager serves the admission webhooks of the program, so a composer that is a Validator or DeletionValidator is an error:
// register the webhook as kubebuilder does. The options Rules, WebhookTimeout, WebhookFailOpen and WebhookMatch are errors, too. An
// ActionHandler or Upgrader is also an error, because they need Run. Children are watched in all namespaces.
func AddToManager[T client.Object](manager ctrl.Manager, name string, composer Composer[T], options ...ManageOption) error {
	settings := settingsOf(options)
	o, err := embeddedIn(manager, name)
	if err == nil {
		err = checkEmbedded(composer, settings)
	}
	if err == nil {
		err = manageComposer(o, composer, settings)
	}
	if err != nil {
		return fmt.Errorf("add %s to the manager: %w", reflect.TypeFor[T](), err)
	}
	return nil
}

// checkEmbedded rejects a composer with methods that would never be called, and options that would have no effect.
func checkEmbedded[T client.Object](composer Composer[T], s manageSettings) error {
	of := any(composer)
	const method, option = "a method %s, which is never called here: %s", "the option %s, which has no effect here: %s"
	for _, unused := range []struct {
		has             bool
		text, name, fix string
	}{
		{is[Validator[T]](of), method, "Validate", "register a webhook with the manager"},
		{is[DeletionValidator[T]](of), method, "ValidateDeletion", "register a webhook with the manager"},
		{is[ActionHandler[T]](of), method, "Actions", "use operon.Run"},
		{is[Upgrader[T]](of), method, "Upgrade", "use operon.Run"},
		{len(s.rules) > 0, option, "Rules", "apply a ValidatingAdmissionPolicy, or use operon.Run"},
		{s.webhooks.Timeout != 0, option, "WebhookTimeout", "set timeoutSeconds of your webhook"},
		{s.webhooks.FailOpen, option, "WebhookFailOpen", "set failurePolicy of your webhook"},
		{len(s.webhooks.Conditions) > 0, option, "WebhookMatch", "set matchConditions of your webhook"},
	} {
		if unused.has {
			return fmt.Errorf("%T has "+unused.text, composer, unused.name, unused.fix)
		}
	}
	return nil
}

func is[I any](value any) bool {
	_, ok := value.(I)
	return ok
}

// embeddedIn returns the operator in a manager. Each manager has one, because all kinds share their watches.
func embeddedIn(in ctrl.Manager, name string) (*operator, error) {
	select {
	case <-in.Elected():
		return nil, errors.New("the manager has started already: add composers before")
	default:
	}
	embedded.mu.Lock()
	defer embedded.mu.Unlock()
	if o := embedded.all[in]; o != nil {
		if o.name != name {
			return nil, fmt.Errorf("the manager has composers of the operator %q already, not of %q: use one name", o.name, name)
		}
		return o, nil
	}
	o, err := newEmbedded(in, name)
	if err == nil {
		embedded.all[in] = o
	}
	return o, err
}

// newEmbedded creates an operator in a manager. Its watches end with the manager.
func newEmbedded(in ctrl.Manager, name string) (*operator, error) {
	life, end := context.WithCancel(context.Background())
	ended := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		end()
		embedded.mu.Lock()
		defer embedded.mu.Unlock()
		delete(embedded.all, in)
		return nil
	})
	if err := in.Add(ended); err != nil {
		end()
		return nil, err
	}
	direct, err := client.NewWithWatch(in.GetConfig(), client.Options{Scheme: in.GetScheme(), Mapper: in.GetRESTMapper(), HTTPClient: in.GetHTTPClient()})
	if err != nil {
		end()
		return nil, err
	}
	o := &operator{
		name: name, home: cmp.Or(os.Getenv("POD_NAMESPACE"), metav1.NamespaceDefault), direct: direct,
		managed: map[schema.GroupKind]bool{}, offers: map[schema.GroupKind]action.Offer{},
	}
	o.log = in.GetLogger()
	if err := o.recordEvents(life, in); err != nil {
		end()
		return nil, err
	}
	o.cached = map[schema.GroupKind]bool{}
	o.overlay = freshness.NewOverlay(in.GetScheme())
	o.manager = &healthy{Manager: freshManager{in, o.overlay.Client(in.GetClient(), in.GetCache())}}
	o.record = reconcile.NewRecord(direct, o.home, name)
	if err := o.watch(life, in, name, nil, nil); err != nil {
		end()
		return nil, err
	}
	return o, nil
}

// recordEvents sends the events of the operator until its life ends.
func (o *operator) recordEvents(life context.Context, in ctrl.Manager) error {
	events, err := recorder.New(o.name, in.GetConfig(), in.GetHTTPClient(), in.GetScheme(), o.log)
	if err != nil {
		return err
	}
	stop, err := events.Start(life)
	if err != nil {
		return err
	}
	context.AfterFunc(life, stop)
	o.events = events
	return nil
}

// freshManager is a manager whose client reads its own writes.
type freshManager struct {
	ctrl.Manager
	client client.Client
}

// GetClient implements cluster.Cluster.
func (m freshManager) GetClient() client.Client { return m.client }

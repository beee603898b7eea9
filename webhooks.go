package operon

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// Rule is a CEL expression that must be true for an object to be stored: see Rules.
type Rule = webhook.Rule

// Lifetimes are the lifetimes of the certificates of webhooks.
type Lifetimes = rotation.Times

// Webhooks configures how API servers reach a Defaulter, a Validator, a DeletionValidator and the conversion of
// versions, and how these are registered. The zero value disables webhooks: no server is started, nothing is
// registered, and Rules have no effect.
type Webhooks struct {
	// BindAddress is host:port.
	BindAddress string
	// Name is the name of registered objects that are not specific to one kind. The default is derived from the
	// operator's name and the namespaces that it is limited to, so that several operators in a cluster do not conflict.
	// What was registered under another name is removed.
	Name string
	// Service is the name of the Service of all replicas, in Namespace. The certificates are stored there in the Secret
	// with the name of the Service and the suffix -certificates. If it is empty, API servers call BindAddress, which
	// must be on their machine, and call only one of several processes.
	Service, Namespace string
	// ServicePort is the port of the Service. The default is 443.
	ServicePort int32
	// CertDir is a directory with tls.crt, tls.key and ca.crt that another program renews, such as cert-manager. If it
	// is empty, the operator is its own CA.
	CertDir string
	// Lifetimes are the lifetimes of the operator's own CA and of the certificates that it signs. Each field has a default:
	// CA one year, Leaf 90 days, Settle 5 minutes or a quarter of Leaf if that is less, Skew one hour.
	Lifetimes Lifetimes
}

// linger is how long a replica behind a Service still receives requests after its shutdown began, until every node
// has removed it.
const linger = 3 * time.Second

// configurationName limits the length of names of registered objects, to which names of kinds are appended.
const configurationName = 63

// serveWebhooks creates the webhook server if webhooks are enabled. A dry run has none, because it writes nothing.
func (o *operator) serveWebhooks(cfg Config) error {
	hooks := cfg.Webhooks
	if hooks.BindAddress == "" || cfg.DryRun != nil {
		return nil
	}
	config := webhook.Config{
		Operator:    o.name,
		Version:     o.version,
		Name:        cmp.Or(hooks.Name, Name(configurationName, append([]string{o.name}, cfg.namespaces()...)...)),
		Namespaces:  cfg.namespaces(),
		Address:     hooks.BindAddress,
		ServicePort: hooks.ServicePort,
		CertDir:     hooks.CertDir,
		Times:       hooks.Lifetimes,
		API:         webhook.API{Wire: o.wire, Client: o.direct, Mapper: o.manager.GetRESTMapper()},
		Leads:       o.manager.Elected(),
		Record:      o.record,
		Log:         o.log,
	}
	if hooks.Service != "" {
		config.Service = types.NamespacedName{Namespace: cmp.Or(hooks.Namespace, cfg.LeaderElectionNamespace), Name: hooks.Service}
		config.Linger = linger
	}
	made, err := webhook.New(config)
	if err != nil {
		return err
	}
	o.webhooks, o.manager.hooks = made, made.Manager()
	return o.manager.AddReadyzCheck("webhooks", made.Check)
}

// ServesWebhooks reports whether Operon's server exists. GetWebhookServer would otherwise start another one.
func (h *healthy) ServesWebhooks() bool { return h.hooks != nil }

// GetWebhookServer returns the server for plain webhooks: Operon's server, if there is one.
func (h *healthy) GetWebhookServer() ctrlwebhook.Server {
	if h.hooks != nil {
		return h.hooks
	}
	return h.Manager.GetWebhookServer()
}

// addAdmission serves the admission webhooks of a composer.
func addAdmission[T client.Object](o *operator, composer Composer[T], settings manageSettings, kind schema.GroupVersionKind) error {
	if o.webhooks == nil {
		return nil
	}
	if err := settings.webhooks.Check(); err != nil {
		return err
	}
	scheme := o.manager.GetScheme()
	if c, ok := any(composer).(Defaulter[T]); ok {
		o.webhooks.Add(webhook.Defaulting(scheme, kind, c, settings.webhooks))
	}
	if c, ok := any(composer).(Validator[T]); ok {
		o.webhooks.Add(webhook.Validating(scheme, kind, func(ctx context.Context, object T, about *webhook.Admission[T]) field.ErrorList {
			return c.Validate(ctx, object, newAdmission(about))
		}, settings.webhooks))
	}
	if c, ok := any(composer).(DeletionValidator[T]); ok {
		o.webhooks.Add(webhook.ValidatingDeletion(scheme, kind, func(ctx context.Context, object T, about *webhook.Admission[T]) error {
			return c.ValidateDeletion(ctx, object, newAdmission(about))
		}, settings.webhooks))
	}
	o.webhooks.Judge(webhook.Policy{Kind: kind, Rules: settings.rules})
	return addConversion[T](o, kind)
}

// addConversion serves the conversion of a kind that has a hub and spokes.
func addConversion[T client.Object](o *operator, kind schema.GroupVersionKind) error {
	spoken, err := converts(o.manager.GetScheme(), reflect.TypeFor[T](), kind)
	if spoken {
		o.webhooks.Convert(conversion.NewWebhookHandler(o.manager.GetScheme(), o.manager.GetConverterRegistry()), kind)
	}
	return err
}

// converts reports whether a kind has a hub and spokes.
func converts(scheme *runtime.Scheme, of reflect.Type, kind schema.GroupVersionKind) (bool, error) {
	object, ok := reflect.New(of.Elem()).Interface().(runtime.Object)
	if !ok {
		return false, fmt.Errorf("%s cannot be made", of)
	}
	kinds, _, err := scheme.ObjectKinds(object)
	if err == nil && len(kinds) != 1 {
		return false, nil // engine.Object is the type of several kinds, and not a version of any
	}
	var converts bool
	if err == nil {
		converts, err = conversion.IsConvertible(scheme, object)
	}
	if err != nil {
		return false, fmt.Errorf("convert versions of %s: %w", kind.Kind, err)
	}
	return converts, nil
}

// awaitConversion waits until API servers convert the kinds that the operator converts. Objects that are read earlier
// lack fields, which would be interpreted as the user's intent.
func (o *operator) awaitConversion(ctx context.Context) {
	if o.webhooks == nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-o.webhooks.Converts():
	}
}

// startWebhooks serves webhooks until life ends. The returned function stops the server gracefully, after everything
// else, because API servers may send requests until the end.
func (o *operator) startWebhooks(ctx, life context.Context) (stop func(), err error) {
	if o.webhooks == nil {
		return func() {}, nil
	}
	end, err := o.webhooks.Start(life)
	if err != nil {
		return nil, err
	}
	dismiss := context.AfterFunc(ctx, o.webhooks.Leave)
	return func() {
		dismiss()
		end()
	}, nil
}

// WebhookTimeout sets how long API servers wait for a response about objects of the kind, in whole seconds from 1 to
// 30. Default: 10 s. As all options of webhooks and Rules, it is an error in AddToManager.
func WebhookTimeout(d time.Duration) ManageOption {
	return func(s *manageSettings) { s.webhooks.Timeout = d }
}

// WebhookFailOpen allows API servers to store objects of the kind while no replica is available, without defaults and
// validation. By default, they reject them.
func WebhookFailOpen() ManageOption {
	return func(s *manageSettings) { s.webhooks.FailOpen = true }
}

// WebhookMatch limits the webhooks to requests for which a CEL expression is true. It can use object, oldObject and
// request. The name identifies the expression. Other requests are stored without defaults and validation.
func WebhookMatch(name, expression string) ManageOption {
	return func(s *manageSettings) {
		s.webhooks.Conditions = append(s.webhooks.Conditions, admissionv1.MatchCondition{Name: name, Expression: expression})
	}
}

// Rules are rules in CEL for the objects of the kind. They are registered as a ValidatingAdmissionPolicy, which API
// servers evaluate themselves, so that no webhook can be unavailable. Prefer a rule in the CRD
// (x-kubernetes-validations), which cannot be removed separately. Use Rules if a rule needs the request, the user or
// the namespace, and a Validator if it cannot be expressed in CEL.
func Rules(rules ...Rule) ManageOption {
	return func(s *manageSettings) { s.rules = append(s.rules, rules...) }
}

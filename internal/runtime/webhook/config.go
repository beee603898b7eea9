package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Config of a Server.
type Config struct {
	// Operator is the operator's name, used as field manager and label. Name is the name of the
	// configurations, which differs between instances that are limited to other namespaces.
	Operator, Name string
	// Version is the operator's version, a semantic version, or empty.
	Version string
	// Namespaces limit the objects for which the operator receives requests. Empty means all.
	Namespaces []string
	// Address is the address to listen on, HOST:PORT.
	Address string
	// Service is the Service through which API servers reach all replicas. If empty, the Address is registered, which has to
	// be on the machine of the API servers then, and only one process is registered.
	Service types.NamespacedName
	// ServicePort is the port of the Service. Zero means 443.
	ServicePort int32
	// CertDir is a directory with tls.crt, tls.key and ca.crt that another tool renews. If empty, the
	// operator is its own CA, and stores it in the Secret with the Service's name and the suffix -certificates.
	CertDir string
	// Times are the durations of the operator's own CA. Those that are zero have the value in rotation.DefaultTimes.
	Times rotation.Times
	// Linger is how long the server continues to listen after it has to stop, because clients learn of that with
	// a delay.
	Linger time.Duration

	API
	// Leads is closed when this process decides what is registered. Nil means at once.
	Leads <-chan struct{}
	// Record stores which kinds of objects were registered.
	Record Record
	Log    logr.Logger
	// Clock decides when to renew. Nil means the system's clock.
	Clock clock.Clock
}

// API reaches the API server. None of its parts may read from a cache.
type API struct {
	Wire   *resourceclient.Wire
	Client client.Client
	Mapper meta.RESTMapper
}

// Record stores kinds, by their purpose. A reconcile.Record is one.
type Record interface {
	Kinds(ctx context.Context, of schema.GroupKind) ([]schema.GroupKind, error)
	Add(ctx context.Context, of schema.GroupKind, kinds []schema.GroupKind) error
}

// Itself is the name of the operator in the record.
var Itself = schema.GroupKind{Group: "operon.dev", Kind: "Operator"}

const defaultServicePort = 443

func (c Config) withDefaults() Config {
	c.Times = c.Times.WithDefaults()
	if c.ServicePort == 0 {
		c.ServicePort = defaultServicePort
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Leads == nil {
		now := make(chan struct{})
		close(now)
		c.Leads = now
	}
	return c
}

func (c Config) validate() error {
	name, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return fmt.Errorf("webhooks: the address %q is not HOST:PORT", c.Address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("webhooks: the address %q has no port from 0 to 65535", c.Address)
	}
	if c.Service.Name != "" && c.Service.Namespace == "" {
		return fmt.Errorf("webhooks: in which namespace is Service %s? Set POD_NAMESPACE to the operator's", c.Service.Name)
	}
	if c.Service.Name != "" && len(validation.IsDNS1035Label(c.Service.Name)) > 0 {
		return fmt.Errorf("webhooks: %q is not a valid name of a Service: want lower-case letters, digits and -, at most 63, a letter first", c.Service.Name)
	}
	if c.ServicePort < 1 || c.ServicePort > 65535 {
		return fmt.Errorf("webhooks: Service %s cannot have the port %d: want 1 to 65535", c.Service.Name, c.ServicePort)
	}
	if c.Service.Name == "" && !loopback(name) {
		return fmt.Errorf("webhooks: API servers cannot call %q: name the Service that leads there, or listen on 127.0.0.1 if the API server is on this machine", c.Address)
	}
	if err := c.Times.Validate(); err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	if c.Wire == nil || c.Client == nil || c.Mapper == nil {
		return errors.New("webhooks: Wire, Client and Mapper are required")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

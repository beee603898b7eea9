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
	// Operator is the operator's name: its field manager and its label. Name is that of the
	// configurations, which differs between instances that are limited to other namespaces.
	Operator, Name string
	// Namespaces limit what the operator is asked about. Empty: all.
	Namespaces []string
	// Address is where is listened, HOST:PORT.
	Address string
	// Service leads API servers to all replicas. Empty: they are told the Address, which has to be on
	// their own machine then, and one process is told of.
	Service types.NamespacedName
	// ServicePort is the Service's. Zero: 443.
	ServicePort int32
	// CertDir is a directory with tls.crt, tls.key and ca.crt that another client renews. Empty: the
	// operator is its own CA, and keeps it in the Secret of the Service's name and -certificates.
	CertDir string
	// Times of the own CA. Zero: rotation.DefaultTimes.
	Times rotation.Times
	// Linger is how long is still listened after the end was asked for, as the news of that takes time to
	// reach those who send requests.
	Linger time.Duration

	API
	// Leads is closed when this process says what is registered. Nil: at once.
	Leads <-chan struct{}
	// Record remembers what kinds of things were registered.
	Record Record
	Log    logr.Logger
	// Clock decides when to renew. Nil: the system's.
	Clock clock.Clock
}

// API reaches the API server. Nothing of it may read from a cache.
type API struct {
	Wire   *resourceclient.Wire
	Client client.Client
	Mapper meta.RESTMapper
}

// Record remembers kinds, by what they are for. A reconcile.Record is one.
type Record interface {
	Kinds(ctx context.Context, of schema.GroupKind) ([]schema.GroupKind, error)
	Add(ctx context.Context, of schema.GroupKind, kinds []schema.GroupKind) error
}

// Itself is what the record calls the operator.
var Itself = schema.GroupKind{Group: "operon.dev", Kind: "Operator"}

const defaultServicePort = 443

func (c Config) withDefaults() Config {
	if c.Times == (rotation.Times{}) {
		c.Times = rotation.DefaultTimes
	}
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

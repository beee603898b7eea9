package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/internal/testing/box"
)

const service = "bench-webhook"

// world is a cluster with replicas of an operator.
type world struct {
	settings
	client client.Client
	end    context.CancelFunc
	ended  sync.WaitGroup
	failed atomic.Pointer[error]
	behind []string // addresses of the replicas
}

func newWorld(ctx context.Context, c *cluster.Cluster, s settings) (*world, error) {
	w := &world{settings: s, client: c.Client}
	err := w.client.Create(ctx, &corev1.Service{ // it refers to this process
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	if err != nil {
		return nil, err
	}
	return w, w.start(ctx, c.Config)
}

// start starts the replicas, and a proxy that forwards connections to them in turn.
func (w *world) start(ctx context.Context, config *rest.Config) error {
	front, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	ctx, w.end = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { front.Close() })
	for range w.replicas {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		free.Close()
		w.behind = append(w.behind, free.Addr().String())
	}
	for _, address := range w.behind {
		w.ended.Go(func() {
			err := operon.Run(ctx, "bench", config, operon.Config{Webhooks: operon.Webhooks{
				BindAddress: address, Service: service, Namespace: metav1.NamespaceDefault,
				ServicePort: int32(front.Addr().(*net.TCPAddr).Port), Lifetimes: w.lives,
			}}, operon.API(box.AddToScheme), operon.Manage(sized{}))
			if err != nil {
				w.failed.Store(&err)
			}
		})
	}
	go balance(front, w.behind)
	return nil
}

func (w *world) stop() {
	w.end()
	w.ended.Wait()
}

// works returns when the API server calls the webhooks.
func (w *world) works(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := w.ask(ctx)
		if err == nil {
			return nil
		}
		if failed := w.failed.Load(); failed != nil {
			return *failed
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server does not ask: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// balance forwards connections to each address in turn, like a Service.
func balance(front net.Listener, behind []string) {
	for n := 0; ; n++ {
		from, err := front.Accept()
		if err != nil {
			return
		}
		go forward(from, behind[n%len(behind)])
	}
}

func forward(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from) // either side has disconnected
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// sized is an operator that defaults the size of Boxes, and rejects some Boxes.
type sized struct{}

func (sized) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

func (sized) Default(_ context.Context, b *box.Box) error {
	if b.Spec.Data["size"] == "" {
		b.Spec.Data = map[string]string{"size": "1"}
	}
	return nil
}

func (sized) Validate(_ context.Context, b *box.Box, _ *operon.Admission[*box.Box]) field.ErrorList {
	if size := b.Spec.Data["size"]; len(size) > 3 {
		return field.ErrorList{field.TooLong(field.NewPath("spec", "data", "size"), size, 3)}
	}
	return nil
}

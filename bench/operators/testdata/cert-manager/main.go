// Command cert-manager runs cert-manager's controllers as its controller binary does. The main package of that binary is in a
// module that has no releases, so this one takes its place. It serves one namespace, without metrics.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// workers is the default of cert-manager.
const workers = 5

func run(ctx context.Context) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: os.Getenv("KUBECONFIG"), Namespace: os.Getenv("POD_NAMESPACE"),
		KubernetesAPIQPS: 20, KubernetesAPIBurst: 50,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: os.Getenv("POD_NAMESPACE")},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour, CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	return elected(ctx, shared, func(ctx context.Context) error { return work(ctx, factory, shared) })
}

// elected runs a function while this process is the leader.
func elected(ctx context.Context, shared *controller.Context, do func(context.Context) error) (err error) {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, os.Getenv("POD_NAMESPACE"), "cert-manager-controller",
		shared.Client.CoreV1(), shared.Client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: fmt.Sprint(name, "-", os.Getpid())})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, ReleaseOnCancel: true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { err = do(ctx); stop() },
			OnStoppedLeading: stop,
		},
	})
	return err
}

// work runs all controllers until ctx is done.
func work(ctx context.Context, factory *controller.ContextFactory, shared *controller.Context) error {
	var running sync.WaitGroup
	for name, constructor := range controller.Known() {
		one, err := constructor(factory)
		if err != nil {
			return err
		}
		running.Go(func() {
			if err := one.Run(workers, ctx); err != nil {
				log.Fatalf("%s: %v", name, err)
			}
		})
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	running.Wait()
	return nil
}

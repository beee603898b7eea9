package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// awaitReady returns when the API server is ready and the controllers have created the default ServiceAccount, so pods can be
// created.
func (cp *ControlPlane) awaitReady(ctx context.Context) error {
	if err := cp.awaitServiceAccount(ctx); err != nil {
		return err
	}
	return cp.awaitOK(ctx, "/readyz")
}

func (cp *ControlPlane) awaitOK(ctx context.Context, path string) error {
	client, err := rest.HTTPClientFor(cp.admin)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(timing.readyPeriod)
	defer ticker.Stop()
	for {
		if ok(ctx, client, cp.server+path) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		case <-ticker.C:
		}
	}
}

func ok(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (cp *ControlPlane) awaitServiceAccount(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return err
	}
	accounts := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	for {
		watcher, err := accounts.Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, "default").String(),
		})
		if err != nil {
			return fmt.Errorf("waiting for the controllers: %w", err)
		}
		if shows(ctx, watcher) {
			return nil
		}
		select {
		case <-time.After(timing.readyPeriod):
		case <-ctx.Done():
			return fmt.Errorf("waiting for the controllers: %w", ctx.Err())
		}
	}
}

// shows returns true when a watch returns an object, and false if it ends before that. An API server may end a watch at any
// time.
func shows(ctx context.Context, watcher watch.Interface) bool {
	defer watcher.Stop()
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false
			}
			if event.Type != watch.Deleted {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

package tree

import (
	"context"
	"errors"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/local/localtest"
)

// Objects that were read may require that more is read. The tree is not complete before this has begun, however late that is.
func TestNothingIsCompleteBeforeWhatWasReadIsLookedAt(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	w, err := Watch(t.Context(), env.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	accounts := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, accounts, "kube-system", 0, cache.Indexers{}, nil).Informer()
	looked := make(chan struct{})
	look := sync.OnceFunc(func() { close(looked) })
	defer look()
	w.mu.Lock()
	w.start(informer, accounts, func(*unstructured.Unstructured) { <-looked })
	w.mu.Unlock()
	localtest.Eventually(t, "ServiceAccounts to be read", func(context.Context) error {
		if !informer.HasSynced() || len(informer.GetStore().List()) == 0 {
			return errors.New("they are not")
		}
		return nil
	})
	if w.Complete() {
		t.Error("all is said to be seen")
	}
	look()
	localtest.Eventually(t, "all to be seen", func(context.Context) error {
		if !w.Complete() {
			return errors.New("it is not")
		}
		return nil
	})
}

// Command program uses generated clients as a user would: it applies, lists and watches objects in a
// namespace, and says what it saw.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/cache/api/v1alpha1"
	applied "example.com/cache/client/applyconfiguration/api/v1alpha1"
	"example.com/cache/client/clientset/versioned"
	"example.com/cache/client/clientset/versioned/fake"
	"example.com/cache/client/informers/externalversions"
)

func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	seen := make(chan int32, 10)
	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0, externalversions.WithNamespace(namespace))
	informer := factory.Cache().V1alpha1().Memcacheds()
	tell := func(object any) { seen <- object.(*v1alpha1.Memcached).Spec.Size }
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	memcacheds := clients.CacheV1alpha1().Memcacheds(namespace)
	wanted := applied.Memcached("one", namespace).WithSpec(applied.MemcachedSpec().WithSize(3))
	if _, err := memcacheds.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "program"}); err != nil {
		return err
	}
	fmt.Println("watched", <-seen)
	scale, err := memcacheds.GetScale(ctx, "one", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 5
	if _, err := memcacheds.UpdateScale(ctx, "one", scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	fmt.Println("watched", <-seen)
	all, err := memcacheds.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	fmt.Println("listed", len(all.Items), all.Items[0].Name)
	cached, err := informer.Lister().Memcacheds(namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	fmt.Println("cached", len(cached))
	_, err = informer.Lister().Memcacheds(namespace).Get("two")
	fmt.Println(err)
	pretended, err := fake.NewClientset(&v1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "y"}}).CacheV1alpha1().Memcacheds("y").Get(ctx, "x", metav1.GetOptions{})
	if err != nil {
		return err
	}
	fmt.Println("pretended", pretended.Name)
	return memcacheds.Delete(ctx, "one", metav1.DeleteOptions{})
}

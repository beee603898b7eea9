// Command program installs the definitions of its project, as an operator would before it starts its
// controllers, and prints them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/cache/crds"
)

func main() {
	crds.All()[0].Name = "changed" // by one caller, for nobody else
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, definition := range crds.All() {
		if err := install(ctx, c, definition); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(crds.All())
}

func install(ctx context.Context, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		return err
	}
	delete(fields, "status")
	object := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: fields})
	return c.Apply(ctx, object, client.FieldOwner("program"), client.ForceOwnership)
}

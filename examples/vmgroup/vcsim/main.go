// Command vcsim runs a vCenter in memory, for trying the operator by hand, and writes the Secret by
// which an operator reaches it into a file. It listens on this machine alone, unless it is told otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/examples/vmgroup/vcenter/simulated"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`HOST:PORT`")
	secret := flag.String("secret", "", "`FILE` that the Secret vc-creds is written to")
	flag.Parse()
	if err := run(*listen, *secret); err != nil {
		fmt.Fprintln(os.Stderr, "vcsim:", err)
		os.Exit(1)
	}
}

func run(listen, file string) error {
	if file == "" {
		return errors.New("--secret is missing: name the file that the Secret is written to")
	}
	v, err := simulated.New(listen)
	if err != nil {
		return err
	}
	defer v.Close()
	text, err := yaml.Marshal(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "vc-creds"}, Data: v.Secret(),
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	fmt.Printf("a vCenter runs until it is interrupted; kubectl apply -f %s lets operators reach it\n", file)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

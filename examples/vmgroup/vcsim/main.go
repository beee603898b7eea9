// Command vcsim runs an in-memory vCenter, for trying the operator manually, and writes the Secret with which an operator
// accesses it to a file. It listens only on this machine, unless a flag sets another address.
//
//	vcsim                                             # until it is interrupted
//	vcsim operon prove . --setup vc-creds.yaml        # as long as a command runs
//
// The vCenter is part of this process, so it outlives the operators that the command starts and kills. vcsim ends with the
// command, with the same exit code, and removes the file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/examples/vmgroup/vcenter/simulated"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`HOST:PORT`")
	secret := flag.String("secret", "vc-creds.yaml", "`FILE` that the Secret vc-creds is written to")
	flag.Parse()
	log.SetOutput(io.Discard) // the simulator logs each connection that a killed operator has left
	err := run(*listen, *secret, flag.Args())
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(max(ended.ExitCode(), 1)) // the command has printed its error; -1: killed by a signal
	case err != nil:
		fmt.Fprintln(os.Stderr, "vcsim:", err)
		os.Exit(1)
	}
}

func run(listen, file string, command []string) (err error) {
	v, err := simulated.New(listen)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := writeSecret(file, v.Secret()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()
	if len(command) > 0 {
		return beside(command)
	}
	fmt.Printf("a vCenter runs until it is interrupted; kubectl apply -f %s lets operators reach it\n", file)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

// writeSecret writes a Secret to a file that only this user can read. An existing file is not replaced, because it may belong
// to another process.
func writeSecret(file string, data map[string][]byte) error {
	text, err := yaml.Marshal(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "vc-creds"}, Data: data,
	})
	if err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists: another vcsim runs, or was killed; remove it, or name another one with --secret", file)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}

// beside runs a command until it ends. A terminal interrupts the command together with this process, so only a termination
// signal, which is sent to this process alone, is forwarded.
func beside(command []string) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Stdin, process.Stdout, process.Stderr = os.Stdin, os.Stdout, os.Stderr
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	return process.Run()
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/local/localtest"
)

// attach checks that input can be sent to the program of a container.
func attach(t *testing.T, n *node) {
	n.apply(t, pod("attach", `while read -r line; do echo "got $line"; done; echo end`, "    stdin: true\n    stdinOnce: true"))
	n.await(t, "attach", "to be ready", ready)
	if r := n.run(t, "hello\nagain\n", "kubectl", "attach", "-i", "attach"); r.code != 0 || !strings.Contains(r.stdout, "got hello\ngot again\nend\n") {
		t.Errorf("%+v", r)
	}
	n.says(t, "attach")
}

// execInto checks that exec passes a program its input, and returns its output, its errors and its exit code.
func execInto(t *testing.T, n *node) {
	n.apply(t, pod("exec", "sleep 600", ""))
	n.await(t, "exec", "to be ready", ready)
	r := n.run(t, "typed", "kubectl", "exec", "-i", "exec", "--", "sh", "-c", "cat; echo wrong >&2; exit 7")
	if r.code != 7 || r.stdout != "typed" || !strings.Contains(r.stderr, "wrong\n") {
		t.Errorf("%+v", r)
	}
	if r := n.run(t, "", "kubectl", "exec", "exec", "--", "nothing"); r.code == 0 || !strings.Contains(r.stderr, `"nothing": executable file not found`) {
		t.Errorf("a program that is not there: %+v", r)
	}
}

// copyFiles checks that a file can be copied to a pod and back.
func copyFiles(t *testing.T, n *node) {
	n.apply(t, pod("cp", "sleep 600", ""))
	n.await(t, "cp", "to be ready", ready)
	here, back := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "back")
	data := bytes.Repeat([]byte("what is copied\n"), 100_000)
	if err := os.WriteFile(here, data, 0o600); err != nil {
		t.Fatal(err)
	}
	n.kubectl(t, "cp", here, "cp:/tmp/there")
	n.kubectl(t, "cp", "cp:/tmp/there", back)
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back of %d, %v", len(got), len(data), err)
	}
}

// untilTold is a shell command that waits until tell creates a file, and until the process that created it has ended: otherwise the
// container may end first, and kill it.
func untilTold(file string) string {
	return "until test -s " + file + " && ! kill -0 $(cat " + file + ") 2>/dev/null; do sleep 0.1; done"
}

// tell creates a file in a pod that waits for it with untilTold.
func (n *node) tell(t *testing.T, pod, file string) {
	t.Helper()
	n.kubectl(t, "exec", pod, "--", "sh", "-c", "echo $$ > "+file)
}

// followLogs checks that a followed log contains earlier and later output, and ends with the pod.
func followLogs(t *testing.T, n *node) {
	n.apply(t, pod("logs", "echo before; "+untilTold("/go")+"; echo after", ""))
	n.await(t, "logs", "to be ready", ready)
	logs := n.command(t, "", "kubectl", "logs", "-f", "logs")
	out, err := logs.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := logs.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "before\n" {
		t.Errorf("%q, %v", line, err)
	}
	n.tell(t, "logs", "/go")
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "after\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if err := logs.Wait(); err != nil {
		t.Error(err)
	}
}

// longLogs checks that logs are rotated, and that a client that follows a log receives all of it.
func longLogs(t *testing.T, n *node) {
	n.apply(t, pod("long", "echo begin; "+untilTold("/go")+"; yes $(printf %01000d 0) | head -n 12000; "+untilTold("/end")+"; echo end", ""))
	last := func(what, want string) {
		localtest.Eventually(t, what, func(ctx context.Context) error {
			got, err := n.CoreV1().Pods("default").GetLogs("long", &corev1.PodLogOptions{TailLines: new(int64(1))}).DoRaw(ctx)
			if err == nil && string(got) != want {
				err = fmt.Errorf("%d bytes are there", len(got))
			}
			return err
		})
	}
	last("the begin of the log", "begin\n")
	logs, said := n.follow(t, "long")
	n.tell(t, "long", "/go")
	last("a second part of the log", "")
	n.tell(t, "long", "/end")
	if err := logs.Wait(); err != nil || strings.Count(said.String(), "\n") != 1+12000+1 || !strings.HasSuffix(said.String(), "0\nend\n") {
		t.Errorf("%d lines, %v", strings.Count(said.String(), "\n"), err)
	}
	if part := n.log(t, "long", "app"); part != "end\n" {
		t.Errorf("the second part has %d bytes", len(part))
	}
}

// logsOfBefore checks the logs of a previous run of a restarted container.
func logsOfBefore(t *testing.T, n *node) {
	manifest := pod("previous", "echo x >> /lives/all; echo life $(wc -l < /lives/all); test $(wc -l < /lives/all) = 2 && sleep 600; exit 3", `
    volumeMounts: [{name: lives, mountPath: /lives}]
  volumes: [{name: lives, emptyDir: {}}]`)
	n.apply(t, strings.Replace(manifest, "restartPolicy: Never", "restartPolicy: Always", 1))
	pod := n.await(t, "previous", "to be started again", restarted)
	if last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 3 {
		t.Errorf("the life before ended: %+v", last)
	}
	if said := n.kubectl(t, "logs", "--previous", "previous"); said != "life 1\n" {
		t.Errorf("the life before said %q", said)
	}
}

// forwardPort checks that a server in a pod can be reached from this machine.
func forwardPort(t *testing.T, n *node) {
	n.apply(t, pod("forward", "exec httpd -f -p 8080 -h /etc", `
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}`))
	n.await(t, "forward", "to be ready", ready)
	forward := n.command(t, "", "kubectl", "port-forward", "forward", ":8080")
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer forward.Wait()
	defer forward.Process.Signal(syscall.SIGTERM)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get("http://" + regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line) + "/hostname")
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "forward\n" {
		t.Errorf("%q, %v", body, err)
	}
}

// debugPod checks that an ephemeral container sees the processes of another container.
func debugPod(t *testing.T, n *node) {
	n.apply(t, pod("debugged", "sleep 600 # here", ""))
	n.await(t, "debugged", "to be ready", ready)
	n.kubectl(t, "debug", "debugged", "--image=busybox:1", "--container=looks", "--target=app", "--", "sh", "-c", "tr '\\0' ' ' < /proc/1/cmdline")
	n.await(t, "debugged", "to have been looked at", func(pod *corev1.Pod) error {
		if s := pod.Status.EphemeralContainerStatuses; len(s) == 0 || s[0].State.Terminated == nil {
			return errors.New("it was not looked at")
		}
		return nil
	})
	if said := n.log(t, "debugged", "looks"); !strings.Contains(said, "sleep 600") {
		t.Errorf("number 1 is seen as %q", said)
	}
}

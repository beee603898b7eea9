package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/local/localtest"
)

// refused checks that pods that cannot run report the reason and start no container.
func refused(t *testing.T, n *node) {
	policy := func(name, image, policy string) string {
		return strings.Replace(pod(name, "echo ran", "    imagePullPolicy: "+policy), "busybox:1", image, 1)
	}
	n.apply(t, policy("pull-never", "busybox:2", "Never")+policy("pull-always", "busybox:1", "Always")+policy("pull-absent", "busybox:1", "IfNotPresent")+
		pod("root", "echo ran", "    securityContext: {runAsNonRoot: true}"))
	for name, want := range map[string]string{
		"pull-never":  `ErrImageNeverPull: Container image "busybox:2" is not present with pull policy of Never`,
		"pull-always": `ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image`,
		"root":        "CreateContainerConfigError: container has runAsNonRoot and image will run as root",
	} {
		n.await(t, name, "to be refused", func(pod *corev1.Pod) error {
			if s := pod.Status.ContainerStatuses; len(s) == 0 || s[0].State.Waiting == nil || !strings.Contains(s[0].State.Waiting.Reason+": "+s[0].State.Waiting.Message, want) {
				return fmt.Errorf("want %q", want)
			}
			return nil
		})
	}
	if said := n.says(t, "pull-absent"); said != "ran\n" {
		t.Errorf("%q", said)
	}
}

// refusedRuntimes checks runtime classes that the cluster does not know, and ones that the node does not have.
func refusedRuntimes(t *testing.T, n *node) {
	wants := func(name, class string) string { return pod(name, "echo ran", "  runtimeClassName: "+class) }
	r := n.run(t, wants("unknown-class", "unknown"), "kubectl", "apply", "-f", "-")
	if r.code == 0 || !strings.Contains(r.stderr, `pod rejected: RuntimeClass "unknown" not found`) {
		t.Errorf("%+v", r)
	}
	n.apply(t, "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: elsewhere}, handler: elsewhere}\n---"+wants("other-class", "elsewhere"))
	localtest.Eventually(t, "the node to tell that it has no such runtime", func(ctx context.Context) error {
		events, err := n.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=other-class,reason=FailedCreatePodSandBox"})
		if err != nil {
			return err
		}
		lacking := func(event corev1.Event) bool {
			return strings.Contains(event.Message, `no runtime for "elsewhere" is configured`)
		}
		if !slices.ContainsFunc(events.Items, lacking) { // at first, the node may not know the class either
			return fmt.Errorf("told is %v", events.Items)
		}
		return nil
	})
}

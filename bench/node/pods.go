package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// image is the name of the image of pods.
const image = "bench:1"

// runPods creates pods and returns when all of them are Running.
func runPods(ctx context.Context, c client.WithWatch, name string, count int) error {
	label := map[string]string{"bench": name}
	watch, err := c.Watch(ctx, &corev1.PodList{}, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels(label))
	if err != nil {
		return err
	}
	defer watch.Stop()
	for i := range count {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Namespace: metav1.NamespaceDefault, Labels: label},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image, Args: []string{"serve"}}}},
		}
		if err := c.Create(ctx, pod); err != nil {
			return err
		}
	}
	running := map[string]bool{}
	for event := range watch.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			running[pod.Name] = true
		}
		if len(running) == count {
			return nil
		}
	}
	return errors.Join(errors.New("the watch of pods ended before all were running"), ctx.Err())
}

// writeImage writes an image of one program in the format of `docker save`.
func writeImage(path, program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	layer, err := pack(map[string][]byte{"app": data})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/app"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	whole, err := pack(map[string][]byte{"config.json": config, "layer.tar": layer, "manifest.json": manifest})
	if err != nil {
		return err
	}
	return os.WriteFile(path, whole, 0o600)
}

func pack(files map[string][]byte) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for name, data := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

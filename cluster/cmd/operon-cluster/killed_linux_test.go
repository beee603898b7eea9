package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// killsLoad kills a load that has written half of a layer to the store. The image must not be listed, and the next load must
// complete the image, both from the same file and from another file whose layer has the same name in its archive. No
// incomplete content may remain.
func killsLoad(t *testing.T, h *home, program []byte) {
	for name, next := range map[string][]byte{"same": program, "other": slices.Concat(program, []byte("another"))} {
		image := name + ":1"
		h.killLoad(t, archive(t, image, runtime.GOARCH, program))
		if list := h.must("image", "ls"); strings.Contains(list, image) {
			t.Errorf("half an image is listed:\n%s", list)
		}
		h.must("image", "load", archive(t, image, runtime.GOARCH, next))
		for _, file := range (disk{h.path}).files(t) {
			if strings.Contains(file, "/ingest/") {
				t.Errorf("left of the first is %s", file)
			}
		}
		h.apply(strings.Replace(pod("runs-"+name, "say", "on"), "app:1", image, 1))
		h.must("kubectl", "wait", "pod/runs-"+name, "--for=jsonpath={.status.phase}=Succeeded", within)
		h.must("image", "rm", image)
	}
}

// killLoad kills `image load` when the store contains a part of the image.
func (h *home) killLoad(t *testing.T, archive string) {
	t.Helper()
	whole, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "image.tar")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	load := h.command("image", "load", pipe)
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	half, err := writeHalf(pipe, whole)
	if err == nil {
		err = h.awaitPart()
		defer half.Close()
	}
	if err := errors.Join(err, load.Process.Kill()); err != nil {
		t.Error(err)
	}
	if err := load.Wait(); err == nil || load.ProcessState.Exited() {
		t.Errorf("it was not killed: %v", err)
	}
}

// writeHalf writes half of an archive to a pipe as soon as the pipe has a reader. The reader expects more data until the
// returned file is closed.
func writeHalf(pipe string, whole []byte) (*os.File, error) {
	deadline := time.Now().Add(patience)
	for {
		file, err := os.OpenFile(pipe, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			if err := file.SetWriteDeadline(deadline); err != nil {
				return file, err
			}
			_, err = file.Write(whole[:len(whole)/2])
			return file, err
		}
		if !errors.Is(err, unix.ENXIO) || time.Now().After(deadline) {
			return nil, err
		}
		time.Sleep(time.Millisecond) // there is no event for a new reader of a pipe
	}
}

// awaitPart waits until the store contains incomplete content.
func (h *home) awaitPart() error {
	parts := filepath.Join(h.path, "clusters/default/node/containerd/io.containerd.content.v1.content/ingest/*/data")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) { // containerd sends no event for this
		found, err := filepath.Glob(parts)
		if err != nil {
			return err
		}
		for _, part := range found {
			if info, err := os.Stat(part); err == nil && info.Size() > 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("there is nothing in %s", parts)
}

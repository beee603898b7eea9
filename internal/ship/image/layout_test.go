package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/operon-framework/operon/local"
)

// lockedLayout returns a layout that the test has locked, and the lock.
func lockedLayout(t *testing.T) (string, *local.Lock) {
	t.Helper()
	dir := t.TempDir()
	lock, err := local.TryLockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, lock
}

// The second process reads the index after the first has written it, so that both images are listed.
func TestTwoWriteOneLayout(t *testing.T) {
	t.Parallel()
	dir, first := lockedLayout(t)
	store := newStore(t)
	one, other := sample(t, store, "one", "linux/amd64"), sample(t, store, "other", "linux/amd64")
	blobs, err := store.all(one)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.writeLayout(t.Context(), dir, named(t, "other"), other, func() {
		err := store.layout(t.Context(), dir, named(t, "one"), one, blobs, &addition{})
		if err := errors.Join(err, first.Unlock()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"docker.io/library/one:latest", "application/spdx+json", "docker.io/library/other:latest", "application/spdx+json"}
	if got := indexed(t, layout.Path(dir)); !slices.Equal(got, want) {
		t.Errorf("lists %q", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("the layout has %v, %v", left, err)
	}
}

// A name that moves to another image leaves the image that also has another name, with its attachments.
func TestReplaceOneOfTwoNames(t *testing.T) {
	t.Parallel()
	of := func(letter string) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: strings.Repeat(letter, 64)} }
	image := func(root, attached string) Image {
		return Image{Descriptor: v1.Descriptor{Digest: of(root)}, Attached: []v1.Descriptor{{Digest: of(attached), ArtifactType: "application/spdx+json"}}}
	}
	subjects := map[v1.Hash]v1.Hash{of("b"): of("a"), of("d"): of("c")}
	index := &v1.IndexManifest{}
	put := func(name, root, attached string) {
		replace(index, Name{Full: name}, image(root, attached), func(d v1.Descriptor) v1.Hash { return subjects[d.Digest] })
	}
	listed := func() string {
		var all []string
		for _, entry := range index.Manifests {
			all = append(all, entry.Annotations[containerdName]+"="+entry.Digest.Hex[:1])
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	put("web:1", "a", "b")
	put("web:latest", "a", "b")
	put("web:latest", "c", "d")
	if got, want := listed(), "=b =d web:1=a web:latest=c"; got != want {
		t.Errorf("the index has %s, want %s", got, want)
	}
	put("web:1", "c", "d")
	if got, want := listed(), "=d web:1=c web:latest=c"; got != want {
		t.Errorf("the index has %s, want %s", got, want)
	}
}

// The second process creates the directory again if the first has removed it.
func TestALayoutThatIsTakenBack(t *testing.T) {
	t.Parallel()
	dir, first := lockedLayout(t)
	store := newStore(t)
	_, err := store.writeLayout(t.Context(), dir, named(t, "web"), sample(t, store, "program", "linux/amd64"), func() {
		if err := errors.Join(os.Remove(dir), first.Unlock()); err != nil {
			t.Error(err)
		}
	})
	if got := indexed(t, layout.Path(dir)); err != nil || len(got) != 2 {
		t.Errorf("lists %q, %v", got, err)
	}
}

// A process that stops waiting does not access the layout.
func TestWaitingForALayoutEnds(t *testing.T) {
	t.Parallel()
	dir, first := lockedLayout(t)
	defer first.Unlock()
	store := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := store.writeLayout(ctx, dir, named(t, "web"), sample(t, store, "program", "linux/amd64"), cancel)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// An incomplete blob of a killed run is removed when the next image is added to the layout.
func TestHalvesInALayoutAreRemoved(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), newStore(t)
	part := filepath.Join(dir, "blobs", "sha256", "."+strings.Repeat("0", 64)+".part")
	write(t, part, "half")
	if _, err := store.writeLayout(t.Context(), dir, named(t, "web"), sample(t, store, "program", "linux/amd64"), func() {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(part); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}

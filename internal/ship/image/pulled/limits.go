package pulled

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Limits bound what is unpacked of an image, and what is kept of all.
type Limits struct {
	// Compressed and File are sizes in bytes: of all layers together as they are transferred, and of one file.
	Compressed, File int64
	// Total is the size of all files in bytes, and Count the number of files and directories. The layers may have four times as much that is left out.
	Total int64
	Count int
	// Kept is the size of the files of all images together in bytes, with a block for each file and directory. The image that was fetched last is
	// kept even if it is larger.
	Kept int64
}

// DefaultLimits are far above the sizes of published catalogs (about 100 MB in 60,000 files) and bundles (a few MB).
var DefaultLimits = Limits{Compressed: 1 << 30, File: 64 << 20, Total: 2 << 30, Count: 200_000, Kept: 4 << 30}

// maxDocument is the maximum size in bytes of a manifest, and of the configuration of an image. They are read into memory, and usually have a few KiB.
const maxDocument = 4 << 20

// block is the size in bytes that a file system needs for a file or a directory in addition to its content.
const block = 4096

// check refuses an image by the sizes in its manifest. What is transferred has these sizes, or is refused then. A negative size would mean any.
func (l Limits) check(manifest *v1.Manifest) error {
	if size := manifest.Config.Size; size < 0 || size > maxDocument {
		return fmt.Errorf("its configuration has %d bytes in the manifest, and must have between 0 and %d", size, maxDocument)
	}
	left := l.Compressed
	for _, layer := range manifest.Layers {
		if layer.Size < 0 {
			return fmt.Errorf("a layer has %d bytes in the manifest", layer.Size)
		}
		if left -= layer.Size; left < 0 {
			return fmt.Errorf("its layers have more than %d bytes", l.Compressed)
		}
	}
	return nil
}

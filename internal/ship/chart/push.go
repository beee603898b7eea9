package chart

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/types"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/operon-framework/operon/internal/ship/image"
)

// Media types of charts in registries, which Helm defines.
const (
	configType     types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	contentType    types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	provenanceType types.MediaType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
)

// Pushed is a chart in a registry.
type Pushed struct {
	// Name is REGISTRY/PATH/CHART:VERSION.
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Signed reports that the provenance file beside the archive was pushed, too.
	Signed bool `json:"signed"`
}

// scheme is what Helm writes before the name of a registry.
const scheme = "oci://"

// Push pushes a packaged chart, and its provenance file if there is one beside it, below a path in a registry, such as
// oci://registry.example.com/charts. The name and the version are those of the chart, as for helm push. tell receives lines about
// the progress.
func Push(ctx context.Context, archive, to string, tell func(string)) (*Pushed, error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFile(archive)
	if err != nil {
		return nil, fmt.Errorf("%s: not a packaged chart: %w; `operon chart package` makes one", archive, err)
	}
	name, err := nameOf(loaded, to)
	if err != nil {
		return nil, err
	}
	signature, err := os.ReadFile(archive + provenanceSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if digest := sha256.Sum256(content); len(signature) > 0 && !bytes.Contains(signature, []byte(hex.EncodeToString(digest[:]))) {
		return nil, fmt.Errorf("%s is not for this archive, which was packaged again: sign it with `operon chart package --key`, or remove the file", archive+provenanceSuffix)
	}
	scratch, err := image.NewScratch(ctx)
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	made, err := artifact(scratch.Store, loaded, content, signature)
	if err != nil {
		return nil, err
	}
	if _, err := scratch.Deliver(ctx, name, made, image.Delivery{Push: name.Full, Tell: tell}); err != nil {
		return nil, err
	}
	return &Pushed{Name: name.Full, Digest: made.Descriptor.Digest.String(), Signed: len(signature) > 0}, nil
}

// nameOf returns the name of a chart below a path in a registry. A tag cannot contain the plus of build metadata, for which Helm writes an
// underscore.
func nameOf(of *helmchart.Chart, to string) (image.Name, error) {
	path := strings.TrimSuffix(strings.TrimPrefix(to, scheme), "/")
	if path == "" || strings.Contains(path, "://") {
		return image.Name{}, fmt.Errorf("push to %q: want a path in a registry, such as %sregistry.example.com/charts", to, scheme)
	}
	return image.ParseName(path + "/" + of.Name() + ":" + strings.ReplaceAll(of.Metadata.Version, "+", "_"))
}

// artifact puts the manifest and the blobs of a chart into a store.
func artifact(store *image.Store, of *helmchart.Chart, content, signature []byte) (image.Image, error) {
	config, err := json.Marshal(of.Metadata)
	if err != nil {
		return image.Image{}, err
	}
	blobs := []image.Blob{{Media: contentType, Content: content}}
	if len(signature) > 0 {
		blobs = append(blobs, image.Blob{Media: provenanceType, Content: signature})
	}
	const prefix = "org.opencontainers.image."
	annotations := map[string]string{prefix + "title": of.Name(), prefix + "version": of.Metadata.Version}
	for name, value := range map[string]string{"description": of.Metadata.Description, "url": of.Metadata.Home} {
		if value != "" {
			annotations[prefix+name] = value
		}
	}
	made, err := store.Artifact(image.Blob{Media: configType, Content: config}, annotations, blobs...)
	return image.Image{Descriptor: made}, err
}

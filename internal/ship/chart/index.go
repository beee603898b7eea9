package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/provenance"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/glob"
)

// IndexFile is the name of the index of a chart repository.
const IndexFile = "index.yaml"

// index is the content of IndexFile, in the format of Helm's chart repositories. Helm's own package for it would link plugins, a
// WebAssembly runtime and download code.
type index struct {
	APIVersion string             `json:"apiVersion"`
	Entries    map[string][]entry `json:"entries"`
	Generated  time.Time          `json:"generated"`
}

// entry is a version of a chart.
type entry struct {
	*helmchart.Metadata
	URLs    []string  `json:"urls"`
	Created time.Time `json:"created"`
	Digest  string    `json:"digest,omitempty"`
}

// IndexOptions describes the index of a chart repository.
type IndexOptions struct {
	// Dir is the directory with the archives, for which the index is written.
	Dir string
	// URL is where the directory is published. If it is empty, the index names archives relative to itself.
	URL string
	// Merge is an earlier index whose other versions stay, for archives that are not in Dir any more. It need not exist.
	Merge string
}

// Indexed is a written index.
type Indexed struct {
	File string `json:"file"`
	// Added are the versions of archives in the directory, and Kept those of the earlier index, as NAME-VERSION.
	Added []string `json:"added"`
	Kept  []string `json:"kept,omitempty"`
}

// WriteIndex writes the index of the archives in a directory. An archive that cannot be read is an error, and then nothing is written.
func WriteIndex(o IndexOptions) (*Indexed, error) {
	if _, err := os.Stat(o.Dir); err != nil {
		return nil, err
	}
	archives, err := glob.In(o.Dir, "*.tgz")
	if err != nil {
		return nil, err
	}
	if len(archives) == 0 {
		return nil, fmt.Errorf("%s has no packaged charts (*.tgz): write them with `operon chart package --destination %s`", o.Dir, o.Dir)
	}
	date, err := image.SourceDate(time.Now().UTC())
	if err != nil {
		return nil, err
	}
	written := &Indexed{File: filepath.Join(o.Dir, IndexFile)}
	all, err := o.earlier()
	if err != nil {
		return nil, err
	}
	all.Generated = date
	for _, archive := range archives {
		one, err := o.entry(archive, date)
		if err != nil {
			return nil, err
		}
		written.Added = append(written.Added, one.Name+"-"+one.Version)
		all.add(one)
	}
	for name, entries := range all.Entries {
		slices.SortFunc(entries, newestFirst)
		for _, one := range entries {
			if id := name + "-" + one.Version; !slices.Contains(written.Added, id) {
				written.Kept = append(written.Kept, id)
			}
		}
	}
	slices.Sort(written.Kept)
	content, err := yaml.Marshal(all)
	if err != nil {
		return nil, err
	}
	return written, image.WriteFile(written.File, 0o644, content)
}

// earlier reads the index whose versions stay.
func (o IndexOptions) earlier() (*index, error) {
	all := &index{APIVersion: "v1", Entries: map[string][]entry{}}
	if o.Merge == "" {
		return all, nil
	}
	content, err := os.ReadFile(o.Merge)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(content, all); err != nil {
		return nil, fmt.Errorf("%s: not the index of a chart repository: %w", o.Merge, err)
	}
	if all.APIVersion != "v1" || all.Entries == nil {
		return nil, fmt.Errorf("%s: not the index of a chart repository: want apiVersion v1 and entries", o.Merge)
	}
	for name, entries := range all.Entries {
		if slices.ContainsFunc(entries, func(one entry) bool { return one.Metadata == nil || one.Version == "" }) {
			return nil, fmt.Errorf("%s: an entry of the chart %s has no version", o.Merge, name)
		}
	}
	return all, nil
}

// entry describes an archive.
func (o IndexOptions) entry(archive string, date time.Time) (entry, error) {
	loaded, err := loader.LoadFile(archive)
	if err == nil {
		err = loaded.Validate()
	}
	if err != nil {
		return entry{}, fmt.Errorf("%s: not a packaged chart: %w", archive, err)
	}
	digest, err := provenance.DigestFile(archive)
	url := filepath.Base(archive)
	if o.URL != "" {
		url = strings.TrimSuffix(o.URL, "/") + "/" + url
	}
	return entry{Metadata: loaded.Metadata, URLs: []string{url}, Created: date, Digest: digest}, err
}

// add adds a version, or replaces it. An unchanged archive keeps its time.
func (i *index) add(one entry) {
	entries := i.Entries[one.Name]
	at := slices.IndexFunc(entries, func(e entry) bool { return e.Version == one.Version })
	if at < 0 {
		i.Entries[one.Name] = append(entries, one)
		return
	}
	if entries[at].Digest == one.Digest {
		one.Created = entries[at].Created
	}
	entries[at] = one
}

// newestFirst compares versions as Helm does: the newest is the default of helm install.
func newestFirst(a, b entry) int {
	left, leftErr := semver.NewVersion(a.Version)
	right, rightErr := semver.NewVersion(b.Version)
	if leftErr != nil || rightErr != nil {
		return strings.Compare(b.Version, a.Version)
	}
	return right.Compare(left)
}

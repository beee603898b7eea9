package project

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// chartCRDs reads the CustomResourceDefinitions in the crds directories of the charts in a WatchesFile, except definitions that the project
// itself contains. They are installed together with the operator, so that the operator needs no permission to install them.
func chartCRDs(root string, own []Object) ([]Object, error) {
	content, err := os.ReadFile(filepath.Join(root, WatchesFile))
	if err != nil {
		return nil, err
	}
	var watches []struct{ Chart string }
	if err := yaml.Unmarshal(content, &watches); err != nil {
		return nil, fmt.Errorf("%s: want a list of entries with group, version and kind: %w", WatchesFile, err)
	}
	var found []Object
	for _, watch := range watches {
		if watch.Chart == "" {
			continue
		}
		objects, err := crdsOfChart(root, watch.Chart)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			same := func(other Object) bool { return other.GetName() == object.GetName() }
			if !slices.ContainsFunc(own, same) && !slices.ContainsFunc(found, same) {
				found = append(found, object)
			}
		}
	}
	return found, nil
}

// crdsOfChart reads the CustomResourceDefinitions of a chart and of its subcharts. It does not use Helm's loader, because tests of authors'
// operators link this package, and their modules should not need Helm.
func crdsOfChart(root, place string) ([]Object, error) {
	from := place
	if !filepath.IsAbs(from) {
		from = filepath.Join(root, from)
	}
	files, err := chartFiles(from)
	if err != nil {
		return nil, fmt.Errorf("%s: read the chart %s: %w", WatchesFile, place, err)
	}
	slices.SortFunc(files, func(a, b chartFile) int { return strings.Compare(a.name, b.name) })
	var found []Object
	for _, file := range files {
		objects, err := Parse(path.Join(filepath.ToSlash(place), file.name), file.content)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if object.GetKind() != "CustomResourceDefinition" {
				return nil, fmt.Errorf("%s: a %s; the directory crds of a chart is for CustomResourceDefinitions", object.Place(), object.GetKind())
			}
		}
		found = append(found, objects...)
	}
	return found, nil
}

var (
	// chartCRD matches the manifests in the crds directories of a chart and of its subcharts.
	chartCRD = regexp.MustCompile(`^(charts/[^/]+/)*crds/.+\.(yaml|yml|json)$`)
	// packedChart matches packaged subcharts.
	packedChart = regexp.MustCompile(`^(charts/[^/]+/)*charts/[^/]+\.tgz$`)
)

// maxChart is the maximum size of an unpacked chart, which limits the damage of a broken archive.
const maxChart = 100 << 20

// chartFile is a manifest with CustomResourceDefinitions. Its name is relative to the chart.
type chartFile struct {
	name    string
	content []byte
}

// chartFiles reads the chartFiles in a directory or an archive.
func chartFiles(from string) ([]chartFile, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		return unpacked("", content)
	}
	var found []chartFile
	err = fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !chartCRD.MatchString(name) && !packedChart.MatchString(name) {
			return err
		}
		content, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		files, err := opened(name, content)
		found = append(found, files...)
		return err
	})
	return found, err
}

// opened returns a file that matches chartCRD, or the files in an archive that matches packedChart.
func opened(name string, content []byte) ([]chartFile, error) {
	if packedChart.MatchString(name) {
		return unpacked(name+"/", content)
	}
	return []chartFile{{name, content}}, nil
}

// unpacked reads the files of an archive, whose entries are in a directory with the chart's name.
func unpacked(prefix string, content []byte) ([]chartFile, error) {
	plain, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var found []chartFile
	for archive := tar.NewReader(io.LimitReader(plain, maxChart)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		_, name, _ := strings.Cut(header.Name, "/")
		if header.Typeflag != tar.TypeReg || !chartCRD.MatchString(name) && !packedChart.MatchString(name) {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files, err := opened(name, content)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found = append(found, chartFile{prefix + file.name, file.content})
		}
	}
}

package chart

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/provenance"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/image"
)

// PackageOptions describes a chart to package.
type PackageOptions struct {
	// Dir is the directory of the chart.
	Dir string
	// Version and AppVersion replace those in Chart.yaml, unless they are empty.
	Version, AppVersion string
	// To is the directory for the archive, which is created. The default is the current directory.
	To string
	// Key is the name of the OpenPGP key that signs the archive, or a part of it. "" does not sign.
	Key string
	// Keyring is a file with secret keys, binary or armored.
	Keyring string
	// Passphrase is asked for if the key is encrypted. It may be nil.
	Passphrase func(key string) ([]byte, error)
}

// Packaged is a packaged chart.
type Packaged struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// File is the archive, and Provenance its signed provenance file, if it was asked for.
	File       string `json:"file"`
	Provenance string `json:"provenance,omitempty"`
	// Digest is the SHA-256 of the archive, in hexadecimal.
	Digest string `json:"digest"`
}

// Package writes NAME-VERSION.tgz, and NAME-VERSION.tgz.prov with a key. The same chart gives the same archive: its times are that of
// SOURCE_DATE_EPOCH, or 1970. An existing archive is replaced only when the new files are complete. A provenance file of an earlier archive
// does not stay.
func Package(o PackageOptions) (*Packaged, error) {
	loaded, err := o.load()
	if err != nil {
		return nil, err
	}
	signer, err := o.signer()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.To, "."), 0o755); err != nil {
		return nil, err
	}
	unfinished, err := os.MkdirTemp(filepath.Join(o.To, "."), ".package-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(unfinished)
	archive, err := chartutil.Save(loaded, unfinished)
	if err != nil {
		return nil, fmt.Errorf("package the chart %s: %w", o.Dir, err)
	}
	if err := complete(archive); err != nil {
		return nil, fmt.Errorf("package the chart %s: the archive in %s is not complete, perhaps because the disk is full: %w", o.Dir, filepath.Join(o.To, "."), err)
	}
	made := &Packaged{Name: loaded.Name(), Version: loaded.Metadata.Version, File: filepath.Join(o.To, filepath.Base(archive))}
	if made.Digest, err = provenance.DigestFile(archive); err != nil {
		return nil, err
	}
	if signer != nil {
		if err := sign(signer, loaded, archive); err != nil {
			return nil, fmt.Errorf("sign the chart %s: %w", o.Dir, err)
		}
		made.Provenance = made.File + provenanceSuffix
	}
	if err := os.Rename(archive, made.File); err != nil {
		return nil, err
	}
	if signer != nil {
		return made, os.Rename(archive+provenanceSuffix, made.Provenance)
	}
	earlier := made.File + provenanceSuffix
	content, err := os.ReadFile(earlier)
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(string(content), made.Digest) { // that of the same archive
		return made, nil
	}
	return made, os.Remove(earlier)
}

// complete reads an archive to its end, because Helm ignores errors when it closes the file, and flushes it to the disk.
func complete(archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return err
	}
	return file.Sync()
}

// provenanceSuffix is what the name of a provenance file has in addition to that of its archive.
const provenanceSuffix = ".prov"

// load reads the chart, and checks it.
func (o PackageOptions) load() (*helmchart.Chart, error) {
	if _, err := os.Stat(filepath.Join(o.Dir, chartutil.ChartfileName)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: name the directory of a chart; `operon generate --helm` writes one for an operator", o.Dir, chartutil.ChartfileName)
	}
	loaded, err := loader.LoadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("load the chart %s: %w", o.Dir, err)
	}
	if o.Version != "" {
		loaded.Metadata.Version = o.Version
	}
	if o.AppVersion != "" {
		loaded.Metadata.AppVersion = o.AppVersion
	}
	if err := loaded.Validate(); err != nil {
		return nil, fmt.Errorf("the chart %s: %w", o.Dir, err)
	}
	for _, required := range loaded.Metadata.Dependencies {
		if !slices.ContainsFunc(loaded.Dependencies(), func(d *helmchart.Chart) bool { return d.Name() == required.Name }) {
			return nil, fmt.Errorf("the chart %s requires the chart %s, which is not in its directory charts: add it with helm dependency build", o.Dir, required.Name)
		}
	}
	date, err := image.SourceDate(image.Epoch)
	loaded.StampModTimes(date)
	return loaded, err
}

// signer returns the key that signs, or nil.
func (o PackageOptions) signer() (*provenance.Signatory, error) {
	if o.Key == "" {
		return nil, nil
	}
	signer, err := provenance.NewFromKeyring(o.Keyring, o.Key)
	if err != nil {
		return nil, fmt.Errorf("read the keyring %s: %w", o.Keyring, err)
	}
	if signer.Entity == nil {
		return nil, fmt.Errorf("the keyring %s has no key %q", o.Keyring, o.Key)
	}
	if err := signer.DecryptKey(o.passphrase); err != nil {
		return nil, fmt.Errorf("use the key %q of the keyring %s: %w", o.Key, o.Keyring, err)
	}
	return signer, nil
}

func (o PackageOptions) passphrase(key string) ([]byte, error) {
	if o.Passphrase == nil {
		return nil, errors.New("it is encrypted, and no passphrase is given")
	}
	return o.Passphrase(key)
}

// sign writes the provenance file of an archive beside it.
func sign(signer *provenance.Signatory, of *helmchart.Chart, archive string) error {
	content, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	metadata, err := yaml.Marshal(of.Metadata)
	if err != nil {
		return err
	}
	signed, err := signer.ClearSign(content, filepath.Base(archive), metadata)
	if err != nil {
		return err
	}
	return os.WriteFile(archive+provenanceSuffix, []byte(signed), 0o644)
}

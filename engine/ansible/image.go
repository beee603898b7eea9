package ansible

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/content"
)

// imageDir is the directory of projects in the images of Operator SDK's Ansible operator.
const imageDir = "/opt/ansible"

// packages are the Debian packages that roles need: Ansible with its collections, the Python packages that the images of Operator SDK's
// Ansible operator have and Debian has, and the commands that tasks with shell expect.
var packages = []string{
	"ansible", "python3-kubernetes", "python3-jmespath", "python3-passlib",
	"coreutils", "dash", "findutils", "grep", "gzip", "libc-bin", "procps", "sed", "tar", // libc-bin has the locale C.UTF-8
}

// ownCollection is the collection that the program brings along.
const ownCollection = "operator_sdk.util"

// image describes the image for the entry.
func (t *entry) image() engine.Image {
	return engine.Image{Dir: imageDir, Packages: slices.Clone(packages), Needs: t.needs}
}

// needs reports the collections in requirements.yml that an image does not have. Versions are not compared: projects name the latest ones,
// and roles rarely need them.
func (t *entry) needs(has func(string) bool) error {
	file := filepath.Join(t.dir, "requirements.yml")
	names, err := content.Required(file)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		path := filepath.Join("ansible_collections", strings.ReplaceAll(name, ".", "/"))
		if name == ownCollection || has(filepath.Join(debianPackages[1:], path)) || exists(filepath.Join(t.dir, "collections", path)) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: the collection %s is not part of Debian's package ansible: add it to the project with `ansible-galaxy collection install %s -p collections`", file, name, name))
	}
	return errors.Join(errs...)
}

package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// project is what `operon up` and `operon deploy` need to know about the manager. It is part of the program, so that the program can be
// installed without its sources.
//
//go:embed go.mod main.go permissions.go config/crd config/rbac
var project embed.FS

// writeProject writes the project to a directory. Files that are the same are not touched.
func writeProject(dir string) error {
	return fs.WalkDir(project, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := project.ReadFile(path)
		if err != nil {
			return err
		}
		if now, err := os.ReadFile(target); err == nil && string(now) == string(content) {
			return nil
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			return fmt.Errorf("write the project: %w", err)
		}
		return nil
	})
}

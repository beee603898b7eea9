package licenses_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/licenses"
)

const mit = `Copyright (c) 2020 Someone

// Permission is hereby granted, free of charge, to any person obtaining a copy
// of this software and associated documentation files (the "Software"), to deal in the Software
// without restriction, including without limitation the rights
// to use, copy, modify, merge, publish, distribute, sublicense, and/or sell ...
`

func TestCollect(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"LICENSE": mit, "NOTICE": "made by someone", "license.go": "package a", "README.md": "", "a/b/COPYING.md": "b", "a/LICENSE-APACHE": "a",
		"c/LICENSE": "not linked", "LICENSE.docs": "of the manual",
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "LICENSE.txt")); err != nil {
		t.Fatal(err)
	}
	linked := []licenses.Linked{
		{Module: "example.com/a", Package: "example.com/a", Dir: root},
		{Module: "example.com/a", Package: "example.com/a/a/b", Dir: filepath.Join(root, "a", "b")},
		{Module: "example.com/none", Package: "example.com/none", Dir: t.TempDir()},
	}
	files, err := licenses.Collect(linked)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		paths = append(paths, file.Path)
	}
	want := []string{"example.com/a/LICENSE", "example.com/a/NOTICE", "example.com/a/a/LICENSE-APACHE", "example.com/a/a/b/COPYING.md", "std/LICENSE"}
	if !slices.Equal(paths, want) {
		t.Errorf("collected %q", paths)
	}
	if got := licenses.Declared(linked, files); got["example.com/a"] != "MIT" || got["example.com/none"] != "" {
		t.Errorf("declared %q", got)
	}
	if len(files) > 1 && string(files[1].Content) != "made by someone" {
		t.Errorf("the notice is %q", files[1].Content)
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	ofGo, err := os.ReadFile("go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		string(ours): "Apache-2.0", string(ofGo): "BSD-3-Clause", mit: "MIT", mit + string(ofGo): "BSD-3-Clause AND MIT",
		"\"Commons Clause\" License Condition v1.0\n" + string(ours): "", "GNU GENERAL PUBLIC LICENSE Version 3": "", "": "",
	} {
		if got := licenses.Identify([]byte(text)); got != want {
			t.Errorf("got %q, want %q for\n%.80s", got, want, text)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add([]byte(mit))
	f.Add([]byte("Commons Clause " + mit))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, id := range strings.Split(licenses.Identify(text), " AND ") {
			if id != "" && !slices.Contains(allowed, id) {
				t.Errorf("%q is not an identifier", id)
			}
		}
	})
}

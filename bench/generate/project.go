package main

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// The arguments of controller-gen in kubebuilder's Makefile.
var (
	manifests = []string{"rbac:roleName=manager-role", "crd", "webhook", "paths=./...", "output:crd:artifacts:config=config/crd/bases"}
	methods   = []string{"object:headerFile=hack/boilerplate.go.txt", "paths=./..."}
)

// The files of the project. The types and the controller are templates for a kind. The types have fields of most Go types.
var (
	//go:embed project/groupversion.go.txt
	groupVersion string
	//go:embed project/types.go.txt
	types string
	//go:embed project/controller.go.txt
	controller string
	//go:embed project/main.go.txt
	mainPackage string
)

var kinds = []string{"Cache", "Database", "Gateway", "Mailbox", "Pipeline", "Queue", "Search", "Website"}

// writeProject writes a project with eight kinds, and the dependencies for the checkout at root.
func writeProject(root, dir string) error {
	module, err := os.ReadFile(filepath.Join(root, "examples/memcached/go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(root, "examples/memcached/go.sum"))
	if err != nil {
		return err
	}
	files := map[string]string{
		"go.mod": strings.NewReplacer(
			"module github.com/operon-framework/operon/examples/memcached", "module example.com/eight",
			"=> ../..", "=> "+root,
		).Replace(string(module)),
		"go.sum":                  string(sums),
		"PROJECT":                 "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: eight\nrepo: example.com/eight\nversion: \"3\"\n",
		"Makefile":                makefile(),
		"hack/boilerplate.go.txt": "/*\nAn example.\n*/",
		"api/v1/groupversion.go":  groupVersion,
	}
	var program strings.Builder
	if err := template.Must(template.New("main").Parse(mainPackage)).Execute(&program, kinds); err != nil {
		return err
	}
	files["cmd/main.go"] = program.String()
	for _, kind := range kinds {
		lower := strings.ToLower(kind)
		named := strings.NewReplacer("Kind", kind, "kinds", lower+"s")
		files["api/v1/"+lower+"_types.go"] = named.Replace(types)
		files["internal/controller/"+lower+"_controller.go"] = named.Replace(controller)
	}
	for path, content := range files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return age(dir)
}

func makefile() string {
	return "manifests:\n\tcontroller-gen " + strings.Join(manifests, " ") + "\n\ngenerate:\n\tcontroller-gen " + strings.Join(methods, " ") + "\n"
}

// editType adds a field to a type of the project.
func editType(dir string, round int) error {
	file := filepath.Join(dir, "api/v1", strings.ToLower(kinds[round%len(kinds)])+"_types.go")
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	field := fmt.Sprintf("\t// Added%d was added.\n\tAdded%d *string `json:\"added%d,omitempty\"`\n\t// Image runs", round, round, round)
	return os.WriteFile(file, []byte(strings.Replace(string(source), "\t// Image runs", field, 1)), 0o644)
}

// age sets the modification times of the project's files to one hour ago.
func age(dir string) error {
	old := time.Now().Add(-time.Hour)
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
}

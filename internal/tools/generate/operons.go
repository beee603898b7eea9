package generate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/operon-framework/operon/internal/tools/generate/crds"
	"github.com/operon-framework/operon/internal/tools/generate/policies"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/projectfile"
	"github.com/operon-framework/operon/internal/tools/rbac/derive"
)

// webhookFolder is the directory for webhook configurations.
const webhookFolder = "config/webhook"

// settingsOf returns the settings of the project, overridden by flags.
func settingsOf(dir string, flags []string) (Settings, error) {
	kept, file, line, err := directive(dir)
	if err != nil {
		return Settings{}, err
	}
	written, err := parseSettings(kept...)
	if err == nil && written.dir != "" && filepath.Join(filepath.Dir(file), written.dir) != dir {
		err = fmt.Errorf("%q is neither a flag of operon generate nor the directory of this project", written.dir)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("%s:%d: %w", file, line, err)
	}
	defaults, err := defaultsOf(dir)
	if err != nil {
		return Settings{}, err
	}
	all, err := parseSettings(slices.Concat(defaults, kept, flags)...)
	if err != nil {
		return all, err
	}
	now, err := parseSettings(flags...)
	if err == nil && (now.Image != "" || now.Namespace != "") && all.Manifests == "" && all.Helm == "" && all.Kustomize == "" {
		err = errors.New("--image and --namespace are for files that install the operator: add --manifests, --helm or --kustomize")
	}
	return all, err
}

// defaultsOf returns the flags that the project's operon.yaml sets.
func defaultsOf(dir string) ([]string, error) {
	file, err := projectfile.Read(dir)
	if err != nil {
		return nil, err
	}
	var flags []string
	set := func(flag, key string) {
		if value, ok := file.Flag(key); ok {
			flags = append(flags, "--"+flag+"="+value)
		}
	}
	set("image", "image")
	set("image", projectfile.Push)
	set("namespace", "namespace")
	if shards, ok := file.Flag("shards"); ok {
		flags = append(flags, "--shards="+strconv.FormatBool(shards != "0"))
	}
	return flags, nil
}

// run returns the run that these settings specify for the project of an operator.
func (s Settings) run(operator string) run {
	schemas := crd.Generator{AllowDangerousTypes: &s.AllowFloats, GenerateEmbeddedObjectMeta: &s.EmbeddedMetadata}
	if s.MaxDescription >= 0 {
		schemas.MaxDescLen = &s.MaxDescription
	}
	gated := crds.Generator{Generator: schemas, Gates: s.FeatureGates}
	return run{paths: s.Paths, tags: buildTags(s.Tags), jobs: []job{
		{name: "object", generator: deepcopy.Generator{HeaderFile: s.HeaderFile, Year: s.Year}},
		{name: "crd", generator: gated, config: project.CRDFolder},
		{name: "rbac", generator: derive.Generator{RoleName: s.RoleName, Project: operator, Shards: s.Shards}, config: project.RBACFolder},
		{name: "webhook", generator: webhook.Generator{}, config: webhookFolder},
		{name: "policy", generator: policies.Generator{Gates: s.FeatureGates, AllowFloats: s.AllowFloats}, config: project.PolicyFolder},
	}}
}

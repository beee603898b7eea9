package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/git"
	"github.com/operon-framework/operon/internal/tools/project"
)

// olderDefinitions reads the CustomResourceDefinitions of a file, a directory or a revision of git.
func olderDefinitions(ctx context.Context, dir, against string) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	info, err := os.Stat(against)
	if errors.Is(err, fs.ErrNotExist) {
		return atRevision(ctx, dir, against)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		objects, err := project.ReadFile("", against)
		return definitions(against, objects, err)
	}
	objects, err := project.ReadFolder("", against)
	for _, below := range []string{"bases", project.CRDFolder, filepath.Join(project.CRDFolder, "bases")} {
		more, problem := project.ReadFolder("", filepath.Join(against, below))
		objects, err = append(objects, more...), errors.Join(err, problem)
	}
	return definitions(against, objects, err)
}

// definitionKind matches the kind of a CustomResourceDefinition. Files of kustomize name this kind only in nested fields.
var definitionKind = regexp.MustCompile(`(?m)^kind:\s*["']?CustomResourceDefinition\b`)

// atRevision reads config/crd at a git revision.
func atRevision(ctx context.Context, dir, revision string) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("--against %s: not a file, directory or git revision", revision)
	}
	if _, err := git.Output(ctx, dir, "rev-parse", "--verify", "--quiet", revision+"^{commit}"); err != nil {
		return nil, fmt.Errorf("--against %s: not a file, directory or git revision in %s", revision, dir)
	}
	listed, err := git.Output(ctx, dir, "ls-tree", "-r", "-z", "--name-only", revision, "--", project.CRDFolder)
	if err != nil {
		return nil, fmt.Errorf("--against %s: list %s: %w", revision, project.CRDFolder, err)
	}
	var objects []project.Object
	for name := range strings.SplitSeq(strings.TrimRight(listed, "\x00"), "\x00") {
		if extension := filepath.Ext(name); extension != ".yaml" && extension != ".yml" {
			continue
		}
		content, err := git.Output(ctx, dir, "show", revision+":./"+name)
		if err != nil { // a partial clone lacks it, for example
			return nil, fmt.Errorf("--against %s: read %s: %w: fetch it with git", revision, name, err)
		}
		read, err := project.Parse(name, []byte(content))
		if err != nil && definitionKind.MatchString(content) {
			return nil, fmt.Errorf("--against %s: %w: name another revision, or a file or directory with the older CRDs", revision, err)
		}
		if err != nil {
			continue // a file of kustomize, or a JSON patch
		}
		objects = append(objects, read...)
	}
	return definitions(revision+":"+project.CRDFolder, objects, nil)
}

func definitions(where string, objects []project.Object, err error) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	if err != nil {
		return nil, err
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, object := range objects {
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		if object.GetKind() != "CustomResourceDefinition" || kind == "" { // a patch has no kind
			continue
		}
		typed, err := rule.Typed(object)
		if err != nil {
			return nil, err
		}
		all[object.GetName()] = typed
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--against %s contains no CRDs: name a file, a directory or a git revision with the older CRDs", where)
	}
	return all, nil
}

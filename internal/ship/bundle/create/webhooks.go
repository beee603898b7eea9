package create

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Where kubebuilder projects have their webhooks.
const (
	webhookFolder  = "config/webhook"
	crdFolder      = "config/crd"
	servicePort    = 443
	webhookPort    = 9443
	conversionPath = "/convert"
)

// readWebhooks reads the webhooks of a kubebuilder project. Operators that are written with Operon register theirs themselves.
func (m *maker) readWebhooks() error {
	objects, err := project.ReadFolder(m.project.Dir, webhookFolder)
	if err != nil {
		return err
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "ValidatingWebhookConfiguration":
			made := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			if err := typed(object.Unstructured, made); err != nil {
				return fmt.Errorf("%s: %w", object.Place(), err)
			}
			for _, hook := range made.Webhooks {
				if err := m.addWebhook(bundle.Validating, hook.Name, hook.ClientConfig, hook); err != nil {
					return fmt.Errorf("%s: %w", object.Place(), err)
				}
			}
		case "MutatingWebhookConfiguration":
			made := &admissionregistrationv1.MutatingWebhookConfiguration{}
			if err := typed(object.Unstructured, made); err != nil {
				return fmt.Errorf("%s: %w", object.Place(), err)
			}
			for _, hook := range made.Webhooks {
				if err := m.addWebhook(bundle.Mutating, hook.Name, hook.ClientConfig, hook); err != nil {
					return fmt.Errorf("%s: %w", object.Place(), err)
				}
			}
		}
	}
	if err := m.readConversions(); err != nil {
		return err
	}
	if l := m.project.Layout; l != nil && len(m.hooks) == 0 {
		for _, kind := range l.Resources {
			if kind.Webhooks {
				return fmt.Errorf("%s:%d: %s has webhooks, and %s has no configuration of webhooks: run make manifests first", project.ProjectFile, kind.Line, kind.Kind, webhookFolder)
			}
		}
	}
	return nil
}

// addWebhook adds the definition of a webhook: its fields, without the Service, which the Operator Lifecycle Manager makes.
func (m *maker) addWebhook(kind bundle.WebhookType, name string, client admissionregistrationv1.WebhookClientConfig, hook any) error {
	fields := map[string]any{}
	if err := plainField(fields, "hook", hook); err != nil {
		return err
	}
	definition, _ := fields["hook"].(map[string]any)
	selector, _ := definition["namespaceSelector"].(map[string]any)
	unknown := map[string]bool{"namespaceSelector": len(selector) > 0, "matchConditions": definition["matchConditions"] != nil, "clientConfig.url": client.URL != nil}
	for _, field := range slices.Sorted(maps.Keys(unknown)) {
		if unknown[field] {
			return fmt.Errorf("the webhook %s has %s, which a ClusterServiceVersion cannot express: remove the field, and check the condition in the webhook itself", name, field)
		}
	}
	for _, field := range []string{"name", "clientConfig", "namespaceSelector"} {
		delete(definition, field)
	}
	definition["type"], definition["generateName"], definition["deploymentName"] = string(kind), name, m.operator.Name
	definition["containerPort"], definition["targetPort"] = int64(servicePort), int64(webhookPort)
	if client.Service != nil && client.Service.Path != nil {
		definition["webhookPath"] = *client.Service.Path
	}
	m.hooks = append(m.hooks, definition)
	return nil
}

// readConversions adds a webhook for the CRDs with several versions that have one, themselves or by a patch of kustomize.
func (m *maker) readConversions() error {
	patched, err := m.patched()
	if err != nil {
		return err
	}
	var names []any
	for _, crd := range m.project.CRDs {
		strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if (strategy == "Webhook" || patched[crd.GetName()]) && len(versions) > 1 {
			names = append(names, crd.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	m.hooks = append(m.hooks, map[string]any{
		"type": string(bundle.Converting), "generateName": "conversion." + m.operator.Name, "deploymentName": m.operator.Name,
		"containerPort": int64(servicePort), "targetPort": int64(webhookPort), "webhookPath": conversionPath, "sideEffects": "None",
		"admissionReviewVersions": []any{"v1"}, "conversionCRDs": names,
	})
	return nil
}

// patched returns the names of the CRDs that have a conversion webhook by a patch that the kustomization of the CRDs lists. Other patches
// are not applied, such as those that kubebuilder leaves in comments.
func (m *maker) patched() (map[string]bool, error) {
	file, content, err := "", []byte(nil), error(nil)
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		file = path.Join(crdFolder, name)
		if content, err = os.ReadFile(filepath.Join(m.project.Dir, filepath.FromSlash(file))); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	var listed struct {
		Patches, PatchesJSON6902 []crdPatch
		PatchesStrategicMerge    []string
	}
	if err := cmp.Or(err, yaml.Unmarshal(content, &listed)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, one := range listed.PatchesStrategicMerge {
		listed.Patches = append(listed.Patches, crdPatch{Path: one})
	}
	names := map[string]bool{}
	for _, one := range slices.Concat(listed.Patches, listed.PatchesJSON6902) {
		if err := m.addPatched(names, one, file); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// crdPatch is an entry of patches in a kustomization. Target.Name is a regular expression.
type crdPatch struct {
	Path, Patch string
	Target      *struct{ Name, LabelSelector, AnnotationSelector string }
}

// addPatched adds the names of the CRDs to which a patch of a kustomization adds a conversion webhook.
func (m *maker) addPatched(names map[string]bool, one crdPatch, file string) error {
	content := []byte(one.Patch)
	if one.Path != "" {
		name := path.Join(crdFolder, one.Path)
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%s: the patch %s is not in the project", file, one.Path)
		}
		read, err := os.ReadFile(filepath.Join(m.project.Dir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		content, file = read, name
	}
	var operations []struct{ Path string }
	if yaml.Unmarshal(content, &operations) == nil && operations != nil { // a JSON patch
		for _, operation := range operations {
			if strings.HasPrefix(operation.Path, "/spec/conversion") {
				return fmt.Errorf("%s: the JSON patch of %s is not read: write it as a strategic merge patch", file, operation.Path)
			}
		}
		return nil
	}
	patches, err := project.Parse(file, content)
	named, targeted := "", one.Target != nil
	if targeted { // the patch need not name an object, and its name does not matter
		patches = []project.Object{{Unstructured: &unstructured.Unstructured{}}}
		err = yaml.Unmarshal(content, &patches[0].Object)
		named = one.Target.Name
	}
	selected, wrong := regexp.Compile("^(?:" + cmp.Or(named, ".*") + ")$")
	if err := errors.Join(err, wrong); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, patch := range patches {
		strategy, _, _ := unstructured.NestedString(patch.Object, "spec", "conversion", "strategy")
		if targeted && one.Target.LabelSelector+one.Target.AnnotationSelector != "" && strategy == "Webhook" {
			return fmt.Errorf("%s: the target of a patch of spec.conversion has a selector, which is not read: name the CRDs", file)
		}
		for _, crd := range m.project.CRDs {
			applied := targeted && selected.MatchString(crd.GetName()) || !targeted && kube.IsCRD(patch.Unstructured) && patch.GetName() == crd.GetName()
			names[crd.GetName()] = names[crd.GetName()] || applied && strategy == "Webhook"
		}
	}
	return nil
}

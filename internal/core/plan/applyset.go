package plan

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels and annotations of the ApplySet specification (KEP-3659), by which tools recognize which objects
// belong together and which tool manages them.
const (
	// PartOfLabel on a child holds the ApplySetID of its owner.
	PartOfLabel = "applyset.kubernetes.io/part-of"
	// SetLabel on an owner holds its own ApplySetID.
	SetLabel = "applyset.kubernetes.io/id"
	// ToolingAnnotation on an owner names the tool that manages its set; other tools do not change the set.
	ToolingAnnotation = "applyset.kubernetes.io/tooling"
	// KindsAnnotation on an owner lists the kinds of its children, as GroupKinds writes them.
	KindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"
	// NamespacesAnnotation on an owner lists the namespaces of its children besides its own.
	NamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
)

// ApplySetID returns the ID that the specification derives from an owner's name, namespace and kind.
func ApplySetID(owner ID) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{owner.Name, owner.Namespace, owner.Kind, owner.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// GroupKinds writes kinds in order, separated by commas: ConfigMap,Deployment.apps.
func GroupKinds(kinds map[schema.GroupKind]bool) string {
	var names []string
	for kind := range kinds {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// ParseGroupKinds reads what GroupKinds wrote.
func ParseGroupKinds(text string) []schema.GroupKind {
	kinds := map[schema.GroupKind]bool{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			kinds[schema.ParseGroupKind(name)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}

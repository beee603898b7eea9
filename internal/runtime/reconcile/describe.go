package reconcile

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/author"
)

// MetadataAnnotation is the prefix of the annotation on an object that lists the labels and annotations which an operator
// set on it, because its composer declared them: metadata.operon.dev/NAME: "labels=a,b annotations=c". The manager's
// cache has no managedFields that could tell. A key that leaves the list is removed from the object.
const MetadataAnnotation = "metadata.operon.dev/"

// describe sets the labels and annotations that a composer declared for the object itself, and removes those that it no
// longer declares.
func describe(object client.Object, manager string, declared author.Composed) {
	mark := MetadataAnnotation + manager
	labels, annotations := described(object.GetAnnotations()[mark])
	wanted := declared.Metadata
	if len(labels)+len(annotations)+len(wanted.Labels)+len(wanted.Annotations) == 0 {
		return
	}
	setLabels, labelKeys := declare(object.GetLabels(), labels, wanted.Labels, declared.Incomplete)
	setAnnotations, annotationKeys := declare(object.GetAnnotations(), annotations, wanted.Annotations, declared.Incomplete)
	delete(setAnnotations, mark)
	if len(labelKeys)+len(annotationKeys) > 0 {
		setAnnotations[mark] = "labels=" + strings.Join(labelKeys, ",") + " annotations=" + strings.Join(annotationKeys, ",")
	}
	object.SetLabels(setLabels)
	object.SetAnnotations(setAnnotations)
}

// described reads the annotation that describe writes.
func described(mark string) (labels, annotations []string) {
	keys := func(list, prefix string) []string {
		list, _ = strings.CutPrefix(list, prefix)
		return slices.DeleteFunc(strings.Split(list, ","), func(key string) bool { return key == "" })
	}
	first, second, _ := strings.Cut(mark, " ")
	return keys(first, "labels="), keys(second, "annotations=")
}

// declare returns all with what is wanted, without the keys that were wanted before and no longer are, and which keys are
// the operator's now. While the composition is incomplete, no key is removed.
func declare(all map[string]string, before []string, wanted map[string]string, incomplete bool) (map[string]string, []string) {
	set, keys := with(all, wanted), slices.Collect(maps.Keys(wanted))
	for _, key := range before {
		switch _, still := wanted[key]; {
		case still:
		case incomplete:
			keys = append(keys, key)
		default:
			delete(set, key)
		}
	}
	slices.Sort(keys)
	return set, keys
}

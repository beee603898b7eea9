package takeover

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// SoleOwner returns the field managers of an object without the fields that a manager applies in the entries of the same name that are updates.
// OLM updates under the name under which Operon's manager applies. The error says that an entry is not valid.
func SoleOwner(entries []metav1.ManagedFieldsEntry, manager string) ([]metav1.ManagedFieldsEntry, error) {
	applied := &fieldpath.Set{}
	for _, one := range entries {
		if one.Manager == manager && one.Operation == metav1.ManagedFieldsOperationApply && one.Subresource == "" && one.FieldsV1 != nil {
			if err := applied.FromJSON(bytes.NewReader(one.FieldsV1.GetRawBytes())); err != nil {
				return nil, err
			}
		}
	}
	var kept []metav1.ManagedFieldsEntry
	for _, one := range entries {
		if one.Manager == manager && one.Operation == metav1.ManagedFieldsOperationUpdate && one.Subresource == "" && one.FieldsV1 != nil {
			fields := &fieldpath.Set{}
			if err := fields.FromJSON(bytes.NewReader(one.FieldsV1.GetRawBytes())); err != nil {
				return nil, err
			}
			rest := fields.Difference(applied)
			if rest.Empty() {
				continue
			}
			text, err := rest.ToJSON()
			if err != nil {
				return nil, err
			}
			one.FieldsV1 = metav1.NewFieldsV1(string(text))
		}
		kept = append(kept, one)
	}
	return kept, nil
}

package v1alpha1_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
)

// An Action that backs up a Database, as you would write it for kubectl create.
func ExampleAction() {
	backup := v1alpha1.Action{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Action"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backup-monday"},
		Spec: v1alpha1.ActionSpec{
			Target:     v1alpha1.Target{APIGroup: "db.example.com", Kind: "Database", Name: "orders"},
			Action:     "backup",
			Parameters: map[string]v1alpha1.Parameter{"compress": "true"},
		},
	}
	show(backup)
	// Output:
	// apiVersion: actions.operon.dev/v1alpha1
	// kind: Action
	// metadata:
	//   name: backup-monday
	//   namespace: shop
	// spec:
	//   action: backup
	//   parameters:
	//     compress: "true"
	//   target:
	//     apiGroup: db.example.com
	//     kind: Database
	//     name: orders
	// status: {}
}

// An ActionSchedule that backs up a Database every night, and cancels a backup that is still running by then.
func ExampleActionSchedule() {
	nightly := v1alpha1.ActionSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ActionSchedule"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nightly"},
		Spec: v1alpha1.ActionScheduleSpec{
			Schedule: "30 2 * * *",
			TimeZone: "Europe/Berlin",
			Overlap:  v1alpha1.Replace,
			Deadline: &metav1.Duration{Duration: time.Hour},
			Template: v1alpha1.ActionSpec{
				Target: v1alpha1.Target{APIGroup: "db.example.com", Kind: "Database", Name: "orders"},
				Action: "backup",
			},
		},
	}
	show(nightly)
	// Output:
	// apiVersion: actions.operon.dev/v1alpha1
	// kind: ActionSchedule
	// metadata:
	//   name: nightly
	//   namespace: shop
	// spec:
	//   deadline: 1h0m0s
	//   overlap: Replace
	//   schedule: 30 2 * * *
	//   template:
	//     action: backup
	//     target:
	//       apiGroup: db.example.com
	//       kind: Database
	//       name: orders
	//   timeZone: Europe/Berlin
	// status: {}
}

func show(object any) {
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
}

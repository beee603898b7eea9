package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What kubebuilder's Makefile has controller-gen do.
var (
	manifests = []string{"rbac:roleName=manager-role", "crd", "webhook", "paths=./...", "output:crd:artifacts:config=config/crd/bases"}
	methods   = []string{"object:headerFile=hack/boilerplate.go.txt", "paths=./..."}
)

var kinds = []string{"Cache", "Database", "Gateway", "Mailbox", "Pipeline", "Queue", "Search", "Website"}

// writeProject writes a project of eight kinds, with what a checkout at root depends on.
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
		"cmd/main.go":             mainPackage(),
	}
	for _, kind := range kinds {
		files["api/v1/"+strings.ToLower(kind)+"_types.go"] = types(kind)
		files["internal/controller/"+strings.ToLower(kind)+"_controller.go"] = controller(kind)
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

const groupVersion = `// Package v1 has eight kinds.
// +kubebuilder:object:generate=true
// +groupName=eight.example.com
package v1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// GroupVersion of the kinds.
var GroupVersion = schema.GroupVersion{Group: "eight.example.com", Version: "v1"}

// SchemeBuilder adds the kinds to a scheme.
var SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}
`

// types are those of a kind, with fields of most sorts.
func types(kind string) string {
	return strings.ReplaceAll(`package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// KindSpec is what is wanted of a Kind.
type KindSpec struct {
	// Replicas are how many there are to be.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	Replicas *int32 `+"`json:\"replicas,omitempty\"`"+`
	// Image runs in each of them.
	// +kubebuilder:validation:MinLength=1
	Image string `+"`json:\"image\"`"+`
	// Mode of work.
	// +kubebuilder:validation:Enum=fast;safe
	Mode string `+"`json:\"mode,omitempty\"`"+`
	// Resources of each.
	Resources corev1.ResourceRequirements `+"`json:\"resources,omitempty\"`"+`
	// Env has variables.
	Env []corev1.EnvVar `+"`json:\"env,omitempty\"`"+`
	// Template of pods.
	Template *corev1.PodTemplateSpec `+"`json:\"template,omitempty\"`"+`
	// MaxUnavailable while it changes.
	MaxUnavailable *intstr.IntOrString `+"`json:\"maxUnavailable,omitempty\"`"+`
	// Labels for all.
	Labels map[string]string `+"`json:\"labels,omitempty\"`"+`
	// Listeners that it has.
	// +listType=map
	// +listMapKey=name
	Listeners []KindListener `+"`json:\"listeners,omitempty\"`"+`
}

// KindListener is one of them.
type KindListener struct {
	// Name of it.
	Name string `+"`json:\"name\"`"+`
	// Port that it is at.
	// +kubebuilder:validation:Maximum=65535
	Port int32 `+"`json:\"port\"`"+`
}

// KindStatus is what there is.
type KindStatus struct {
	// Conditions of it.
	Conditions []metav1.Condition `+"`json:\"conditions,omitempty\"`"+`
	// ObservedGeneration is the one that this is about.
	ObservedGeneration int64 `+"`json:\"observedGeneration,omitempty\"`"+`
	// LastChange is when.
	LastChange *metav1.Time `+"`json:\"lastChange,omitempty\"`"+`
}

// Kind is one of eight.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`+"`.spec.replicas`"+`
type Kind struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`

	Spec   KindSpec   `+"`json:\"spec,omitempty\"`"+`
	Status KindStatus `+"`json:\"status,omitempty\"`"+`
}

// KindList is a list of them.
// +kubebuilder:object:root=true
type KindList struct {
	metav1.TypeMeta `+"`json:\",inline\"`"+`
	metav1.ListMeta `+"`json:\"metadata,omitempty\"`"+`

	Items []Kind `+"`json:\"items\"`"+`
}

func init() { SchemeBuilder.Register(&Kind{}, &KindList{}) }
`, "Kind", kind)
}

// controller is one of kubebuilder's form.
func controller(kind string) string {
	plural := strings.ToLower(kind) + "s"
	return strings.NewReplacer("Kind", kind, "kinds", plural).Replace(`package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/eight/api/v1"
)

// KindReconciler reconciles a Kind.
type KindReconciler struct{ client.Client }

// +kubebuilder:rbac:groups=eight.example.com,resources=kinds,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=eight.example.com,resources=kinds/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:webhook:path=/validate-kinds,mutating=false,failurePolicy=fail,sideEffects=None,groups=eight.example.com,resources=kinds,verbs=create;update,versions=v1,name=kinds.example.com,admissionReviewVersions=v1

// Reconcile does nothing.
func (r *KindReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object v1.Kind
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, request.NamespacedName, &object))
}

// SetupWithManager adds it to a manager.
func (r *KindReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&v1.Kind{}).Owns(&appsv1.Deployment{}).Complete(r)
}
`)
}

func mainPackage() string {
	var set strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&set, "\tif err := (&controller.%sReconciler{Client: manager.GetClient()}).SetupWithManager(manager); err != nil {\n\t\tpanic(err)\n\t}\n", kind)
	}
	return `package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "example.com/eight/api/v1"
	"example.com/eight/internal/controller"
)

func main() {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err)
	}
	if err := v1.SchemeBuilder.AddToScheme(scheme); err != nil {
		panic(err)
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme})
	if err != nil {
		panic(err)
	}
` + set.String() + `	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		panic(err)
	}
}
`
}

// editType gives a type of the project another field.
func editType(dir string, round int) error {
	file := filepath.Join(dir, "api/v1", strings.ToLower(kinds[round%len(kinds)])+"_types.go")
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	field := fmt.Sprintf("\t// Added%d was added.\n\tAdded%d *string `json:\"added%d,omitempty\"`\n\t// Image runs", round, round, round)
	return os.WriteFile(file, []byte(strings.Replace(string(source), "\t// Image runs", field, 1)), 0o644)
}

// age makes the project's files as old as those that an author has not touched for an hour.
func age(dir string) error {
	old := time.Now().Add(-time.Hour)
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
}

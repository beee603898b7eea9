package render_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
)

const operator = `
metadata: {name: shop.v1.0.0, namespace: shops, annotations: {capabilities: Basic Install, kubectl.kubernetes.io/last-applied-configuration: x}}
spec:
  install:
    spec:
      permissions:
      - {serviceAccountName: shop, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
      clusterPermissions:
      - {serviceAccountName: default, rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]}
      deployments:
      - name: shop
        label: {tier: back}
        spec:
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}, annotations: {own: "yes"}}
            spec:
              nodeSelector: {disk: ssd}
              affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone}}]}}
              containers:
              - {name: a, image: "shop:1", env: [{name: LOG, value: info}], volumeMounts: [{name: data, mountPath: /old}]}
              - {name: b, image: "shop:1", resources: {limits: {cpu: "1"}}}
`

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// The changes of a Subscription act on all containers, and replace what is named alike.
func TestConfig(t *testing.T) {
	t.Parallel()
	csv, config := &v1alpha1.ClusterServiceVersion{}, &v1alpha1.SubscriptionConfig{}
	read(t, operator, csv)
	read(t, `
env: [{name: LOG, value: debug}, {name: MORE, value: "1"}]
envFrom: [{configMapRef: {name: settings}}]
volumes: [{name: data, emptyDir: {}}]
volumeMounts: [{name: data, mountPath: /new}]
tolerations: [{key: spot, operator: Exists}]
nodeSelector: {disk: hdd}
resources: {limits: {memory: 1Gi}}
annotations: {own: "no", added: "yes"}
affinity: {podAffinity: {}}
`, config)
	made, err := render.Deployments(csv, render.Group{Name: "all", Namespace: "shops", Targets: []string{""}, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(made[0].Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	want := `metadata:
  annotations:
    added: "yes"
    capabilities: Basic Install
    olm.operatorGroup: all
    olm.operatorNamespace: shops
    olm.targetNamespaces: ""
    own: "yes"
  labels:
    app: shop
spec:
  containers:
  - env:
    - name: LOG
      value: debug
    - name: OPERATOR_CONDITION_NAME
      value: shop.v1.0.0
    - name: MORE
      value: "1"
    envFrom:
    - configMapRef:
        name: settings
    image: shop:1
    name: a
    resources:
      limits:
        memory: 1Gi
    volumeMounts:
    - mountPath: /new
      name: data
  - env:
    - name: OPERATOR_CONDITION_NAME
      value: shop.v1.0.0
    - name: LOG
      value: debug
    - name: MORE
      value: "1"
    envFrom:
    - configMapRef:
        name: settings
    image: shop:1
    name: b
    resources:
      limits:
        memory: 1Gi
    volumeMounts:
    - mountPath: /new
      name: data
  nodeSelector:
    disk: hdd
  tolerations:
  - key: spot
    operator: Exists
  volumes:
  - emptyDir: {}
    name: data
`
	if string(text) != want {
		t.Errorf("the pods are\n%s\nwant\n%s", text, want)
	}
	if labels := made[0].Labels; labels["tier"] != "back" || labels["olm.owner"] != "shop.v1.0.0" || labels["olm.managed"] != "true" {
		t.Errorf("the labels are %v", labels)
	}
}

// A Subscription cannot give an operator what belongs to others in the namespace, or to the node, unless the group allows it.
func TestVolumesOfSubscriptions(t *testing.T) {
	t.Parallel()
	csv := &v1alpha1.ClusterServiceVersion{}
	read(t, operator, csv)
	for volume, allowed := range map[string]bool{
		"configMap: {name: trusted}": true,
		"downwardAPI: {items: []}":   true,
		"emptyDir: {}":               true,
		"projected: {sources: [{configMap: {name: one}}, {downwardAPI: {}}]}":            true,
		"secret: {secretName: of-another}":                                               false,
		"projected: {sources: [{configMap: {name: one}}, {secret: {name: of-another}}]}": false,
		"projected: {sources: [{serviceAccountToken: {path: token}}]}":                   false,
		"hostPath: {path: /}":                                          false,
		"persistentVolumeClaim: {claimName: of-another}":               false,
		"csi: {driver: secrets}":                                       false,
		"configMap: {name: trusted}, secret: {secretName: of-another}": false,
	} {
		config := &v1alpha1.SubscriptionConfig{}
		read(t, "volumes: [{name: more, "+volume+"}]\nvolumeMounts: [{name: more, mountPath: /more}]\n", config)
		_, err := render.Deployments(csv, render.Group{Config: config})
		if allowed != (err == nil) || err != nil && !strings.Contains(err.Error(), "spec.config.volumes[0] (more) of the Subscription: only volumes of the types configMap") {
			t.Errorf("%s: %v", volume, err)
		}
		if _, err := render.Deployments(csv, render.Group{Config: config, AnyVolumes: true}); err != nil {
			t.Errorf("%s is not allowed by the group: %v", volume, err)
		}
	}
}

// The digest of the permissions depends on those of the operator and of users, and not on what administrators may change.
func TestPermissionsDigest(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		csv := &v1alpha1.ClusterServiceVersion{}
		read(t, text, csv)
		found, err := render.PermissionsDigest(csv)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	labelled := strings.Replace(operator, "namespace: shops,", `namespace: shops, labels: {operators.coreos.com/other: ""},`, 1)
	const owned = "  customresourcedefinitions: {owned: [{name: shops.example.com, version: v1, kind: Shop}]}\n"
	if labelled == operator || digest(labelled+owned) != digest(operator+owned) {
		t.Error("the digest depends on labels")
	}
	want := digest(operator)
	for from, to := range map[string]string{"capabilities: Basic": "capabilities: Full", `"shop:1", env`: `"shop:2", env`, "value: info": "value: debug"} {
		if changed := strings.Replace(operator, from, to, 1); changed == operator || digest(changed) != want {
			t.Errorf("the digest depends on %s", to)
		}
	}
	for from, to := range map[string]string{
		"verbs: [get]}]}\n      cluster": "verbs: [list]}]}\n      cluster",
		"  install:":                     "  customresourcedefinitions: {owned: [{name: shops.example.com, version: v1, kind: Shop}]}\n  install:",
	} {
		if changed := strings.Replace(operator, from, to, 1); changed == operator || digest(changed) == want {
			t.Errorf("the digest does not depend on %s", to)
		}
	}
}

// Each kind has three ClusterRoles for users, and one for its definition, however many versions of it there are.
func TestAPIRoles(t *testing.T) {
	t.Parallel()
	csv := &v1alpha1.ClusterServiceVersion{}
	read(t, operator+`
  customresourcedefinitions:
    owned: [{name: shops.example.com, version: v1, kind: Shop}, {name: shops.example.com, version: v2, kind: Shop}]
  apiservicedefinitions:
    owned: [{name: items, group: stock.example.com, version: v1, kind: Item}, {group: other.example.com, version: v1, kind: Other}]
`, csv)
	var got []string
	for _, object := range render.APIRoles(csv) {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok || len(role.Rules) != 1 || role.Labels["olm.owner"] != "shop.v1.0.0" || len(role.Name) > 63 {
			t.Fatalf("the object is %+v", object)
		}
		for _, part := range []string{"admin", "edit", "view"} {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+part] == "true" {
				got = append(got, fmt.Sprintf("%s: %v %v/%v%v", part, role.Rules[0].Verbs, role.Rules[0].APIGroups, role.Rules[0].Resources, role.Rules[0].ResourceNames))
			}
		}
	}
	want := `admin: [*] [example.com]/[shops][]
edit: [create update patch delete] [example.com]/[shops][]
view: [get list watch] [example.com]/[shops][]
view: [get] [apiextensions.k8s.io]/[customresourcedefinitions][shops.example.com]
admin: [*] [stock.example.com]/[items][]
edit: [create update patch delete] [stock.example.com]/[items][]
view: [get list watch] [stock.example.com]/[items][]`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("the roles are\n%s\nwant\n%s", text, want)
	}
}

// Permissions follow the namespaces of the group.
func TestPermissions(t *testing.T) {
	t.Parallel()
	csv := &v1alpha1.ClusterServiceVersion{}
	read(t, operator, csv)
	for targets, want := range map[string]string{
		"shops":     "ServiceAccount/shops Role/shops RoleBinding/shops ClusterRole/ ClusterRoleBinding/",
		"shops,two": "ServiceAccount/shops Role/shops RoleBinding/shops Role/two RoleBinding/two ClusterRole/ ClusterRoleBinding/",
		"":          "ServiceAccount/shops Role/shops RoleBinding/shops ClusterRole/ ClusterRoleBinding/ ClusterRole/ ClusterRoleBinding/",
	} {
		var got []string
		names := map[string]bool{}
		for _, object := range render.Permissions(csv, render.Group{Targets: strings.Split(targets, ",")}) {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			got = append(got, kind+"/"+object.GetNamespace())
			if key := kind + object.GetNamespace() + object.GetName(); names[key] || len(object.GetName()) > 63 {
				t.Errorf("%s: the name %s is too long, or not unique", targets, key)
			} else {
				names[key] = true
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: the objects are %s, want %s", targets, text, want)
		}
	}
}

// A mistake in the spec of a Deployment names the field.
func TestInvalidDeployment(t *testing.T) {
	t.Parallel()
	csv := &v1alpha1.ClusterServiceVersion{}
	read(t, strings.Replace(operator, "nodeSelector: {disk: ssd}", "nodeSelector: [ssd]", 1), csv)
	_, err := render.Deployments(csv, render.Group{})
	if err == nil || !strings.Contains(err.Error(), "spec.install.spec.deployments[0] (shop): spec: want the spec of a Deployment of apps/v1") || !strings.Contains(err.Error(), "nodeSelector") {
		t.Errorf("the error is %v", err)
	}
}

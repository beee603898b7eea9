package render_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
)

const hooks = `
metadata: {name: shop.v1.0.0, namespace: shops}
spec:
  installModes:
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions: {owned: [{name: shops.example.com, version: v1, kind: Shop}]}
  apiservicedefinitions: {owned: [{group: stock.example.com, version: v1, kind: Item, deploymentName: shop.server}]}
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: vshop.example.com
    deploymentName: shop.server
    containerPort: 8443
    targetPort: webhooks
    webhookPath: /validate
    rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [shops]}]
    failurePolicy: Ignore
    matchPolicy: Exact
    objectSelector: {matchLabels: {checked: "yes"}}
    sideEffects: None
    timeoutSeconds: 5
    admissionReviewVersions: [v1]
  - type: MutatingAdmissionWebhook
    generateName: mshop.example.com
    deploymentName: shop.server
    containerPort: 8443
    targetPort: webhooks
    rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods]}]
    sideEffects: None
    reinvocationPolicy: IfNeeded
    admissionReviewVersions: [v1]
  - type: ConversionWebhook
    generateName: cshop.example.com
    deploymentName: shop.server
    conversionCRDs: [shops.example.com]
    admissionReviewVersions: [v1, v1beta1]
  install:
    spec:
      deployments:
      - name: worker
        spec:
          selector: {matchLabels: {app: worker}}
          template: {metadata: {labels: {app: worker}}, spec: {containers: [{name: a, image: "shop:1"}]}}
      - name: shop.server
        spec:
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}}
            spec:
              serviceAccountName: shop
              volumes:
              - {name: cert, secret: {secretName: webhook-server-cert}}
              - {name: apiservice-cert, emptyDir: {}}
              - {name: data, emptyDir: {}}
              containers:
              - {name: a, image: "shop:1", volumeMounts: [{name: cert, mountPath: /tmp/k8s-webhook-server/serving-certs/}, {name: data, mountPath: /data}]}
              - {name: b, image: "shop:1", volumeMounts: [{name: apiservice-cert, mountPath: /elsewhere}]}
`

func serving(t *testing.T, group render.Group, change ...string) []render.Child {
	t.Helper()
	csv := &v1alpha1.ClusterServiceVersion{}
	read(t, strings.NewReplacer(change...).Replace(hooks), csv)
	all, err := render.Children(csv, group, map[string]render.Certificate{"shop.server": {Data: map[string][]byte{"tls.crt": []byte("c")}, Bundle: []byte("ca"), Hash: "1234"}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A Deployment that serves webhooks gets its certificate in all containers, in the place of what has the same name or path. Others do not.
func TestPodsOfWebhooks(t *testing.T) {
	t.Parallel()
	all := serving(t, render.Group{Targets: []string{""}})
	var kinds []string
	for _, child := range all {
		kinds = append(kinds, child.GetObjectKind().GroupVersionKind().Kind+"/"+child.After)
	}
	if got, want := strings.Join(kinds, " "), "Secret/ Service/ Deployment/ Deployment/ ValidatingWebhookConfiguration/shop.server MutatingWebhookConfiguration/shop.server APIService/shop.server"; got != want {
		t.Fatalf("the objects are %s, want %s", got, want)
	}
	worker, server := all[2].Object.(*appsv1.Deployment).Spec.Template, all[3].Object.(*appsv1.Deployment).Spec.Template
	if len(worker.Spec.Volumes) != 0 || worker.Annotations["olmcahash"] != "" {
		t.Errorf("the pods of the other Deployment are %+v", worker)
	}
	text, err := yaml.Marshal(map[string]any{"volumes": server.Spec.Volumes, "a": server.Spec.Containers[0].VolumeMounts, "b": server.Spec.Containers[1].VolumeMounts, "hash": server.Annotations["olmcahash"]})
	if err != nil {
		t.Fatal(err)
	}
	want := `a:
- mountPath: /data
  name: data
- mountPath: /apiserver.local.config/certificates
  name: apiservice-cert
- mountPath: /tmp/k8s-webhook-server/serving-certs
  name: webhook-cert
b:
- mountPath: /apiserver.local.config/certificates
  name: apiservice-cert
- mountPath: /tmp/k8s-webhook-server/serving-certs
  name: webhook-cert
hash: "1234"
volumes:
- emptyDir: {}
  name: data
- name: apiservice-cert
  secret:
    items:
    - key: tls.crt
      path: apiserver.crt
    - key: tls.key
      path: apiserver.key
    secretName: shop-server-service-cert
- name: webhook-cert
  secret:
    items:
    - key: tls.crt
      path: tls.crt
    - key: tls.key
      path: tls.key
    secretName: shop-server-service-cert
`
	if string(text) != want {
		t.Errorf("the pods have\n%s\nwant\n%s", text, want)
	}
	service := all[1].Object.(*corev1.Service)
	if got, want := fmt.Sprintf("%s %v %v", service.Name, service.Spec.Selector, service.Spec.Ports), "shop-server-service map[app:shop] [{8443 TCP <nil> 8443 {1 0 webhooks} 0} {443 TCP <nil> 443 {0 443 } 0}]"; got != want {
		t.Errorf("the Service is %s, want %s", got, want)
	}
}

// A configuration has all fields of the description, and selects the namespaces of the group. Versions of an operator have the same names.
func TestConfigurationsOfWebhooks(t *testing.T) {
	t.Parallel()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"shop": "yes"}}
	for want, group := range map[string]render.Group{
		"":                                     {Targets: []string{""}},
		"kubernetes.io/metadata.name in (a,b)": {Targets: []string{"a", "b"}},
		"shop=yes":                             {Targets: []string{"a", "b"}, Selector: selector},
	} {
		text, err := yaml.Marshal(serving(t, group)[4].Object)
		if err != nil {
			t.Fatal(err)
		}
		namespaces := ""
		switch want {
		case "":
		case "shop=yes":
			namespaces = "  namespaceSelector:\n    matchLabels:\n      shop: \"yes\"\n"
		default:
			namespaces = "  namespaceSelector:\n    matchExpressions:\n    - key: kubernetes.io/metadata.name\n      operator: In\n      values:\n      - a\n      - b\n"
		}
		if !strings.HasSuffix(string(text), `webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    caBundle: Y2E=
    service:
      name: shop-server-service
      namespace: shops
      path: /validate
      port: 8443
  failurePolicy: Ignore
  matchPolicy: Exact
  name: vshop.example.com
`+namespaces+`  objectSelector:
    matchLabels:
      checked: "yes"
  rules:
  - apiGroups:
    - example.com
    apiVersions:
    - v1
    operations:
    - CREATE
    resources:
    - shops
  sideEffects: None
  timeoutSeconds: 5
`) {
			t.Errorf("%s: the configuration is\n%s", want, text)
		}
	}
	names := func(all []render.Child) (names []string) {
		for _, child := range all {
			names = append(names, child.GetName())
		}
		return names
	}
	all := render.Group{Targets: []string{""}}
	one, next := names(serving(t, all)), names(serving(t, all, "shop.v1.0.0", "shop.v1.1.0"))
	elsewhere := names(serving(t, all, "namespace: shops", "namespace: others"))
	if fmt.Sprint(one) != fmt.Sprint(next) || one[4] == elsewhere[4] || one[6] != "v1.stock.example.com" {
		t.Errorf("the names are %s, of the next version %s, and in another namespace %s", one, next, elsewhere)
	}
	labels := serving(t, all)[4].GetLabels()
	if labels["olm.webhook-description-generate-name"] != "vshop.example.com" || labels["olm.webhook-description-hash"] == "" || labels["olm.owner"] != "shop.v1.0.0" {
		t.Errorf("the labels are %v", labels)
	}
}

// Conversions lead to the Service of the operator. Only API servers get permissions to delegate.
func TestConversionAndDelegation(t *testing.T) {
	t.Parallel()
	csv := &v1alpha1.ClusterServiceVersion{}
	read(t, hooks, csv)
	servers, err := render.Servers(csv, render.Group{Targets: []string{""}})
	if err != nil || len(servers) != 1 {
		t.Fatalf("%v, error %v", servers, err)
	}
	text, err := yaml.Marshal(render.Conversions(servers, map[string]render.Certificate{"shop.server": {Bundle: []byte("ca")}}))
	if err != nil {
		t.Fatal(err)
	}
	if want := `- CRD: shops.example.com
  Conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        caBundle: Y2E=
        service:
          name: shop-server-service
          namespace: shops
          path: /
          port: 443
      conversionReviewVersions:
      - v1
      - v1beta1
  Deployment: shop.server
`; string(text) != want {
		t.Errorf("the conversions are\n%s\nwant\n%s", text, want)
	}
	if got, want := described(servers[0].Delegation()), "Role/shops RoleBinding/shops ClusterRoleBinding/ RoleBinding/kube-system"; got != want {
		t.Errorf("the permissions are %s, want %s", got, want)
	}
	csv.Spec.APIServiceDefinitions.Owned = nil
	if servers, err = render.Servers(csv, render.Group{Targets: []string{""}}); err != nil || described(servers[0].Delegation()) != "" {
		t.Errorf("of webhooks alone: %v, error %v", servers, err)
	}
}

func described(all []client.Object) string {
	var texts []string
	for _, object := range all {
		texts = append(texts, object.GetObjectKind().GroupVersionKind().Kind+"/"+object.GetNamespace())
	}
	return strings.Join(texts, " ")
}

// Descriptions with which an operator could lock out the manager, convert what it does not own, or serve groups of Kubernetes are refused.
func TestRefusedDescriptions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string][2]string{
		"spec.webhookdefinitions[0] (vshop.example.com): rules[0]: webhook rules cannot include all groups":                                 {"apiGroups: [example.com]", `apiGroups: ["*"]`},
		"rules[0]: webhook rules cannot include the group operators.coreos.com of the lifecycle manager":                                    {"apiGroups: [example.com]", "apiGroups: [operators.coreos.com]"},
		"rules[0]: webhook rules cannot include the group olm.operatorframework.io of the lifecycle manager":                                {"apiGroups: [example.com]", "apiGroups: [olm.operatorframework.io]"},
		"rules[0]: webhook rules cannot include webhook configurations":                                                                     {"apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [shops]", "apiGroups: [admissionregistration.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [validatingwebhookconfigurations]"},
		`deploymentName: no deployment "none" in spec.install`:                                                                              {"deploymentName: shop.server\n    conversionCRDs", "deploymentName: none\n    conversionCRDs"},
		"spec.webhookdefinitions[2] (cshop.example.com): conversionCRDs: others.example.com is not in spec.customresourcedefinitions.owned": {"conversionCRDs: [shops.example.com]", "conversionCRDs: [others.example.com]"},
		"conversion webhooks need the install mode AllNamespaces and no other":                                                              {"- {type: AllNamespaces, supported: true}", "- {type: AllNamespaces, supported: true}\n  - {type: OwnNamespace, supported: true}"},
		`type: "Webhook" is not a type of webhooks`:                                                                                         {"type: ConversionWebhook", "type: Webhook"},
		"containerPort 8443 leads to the target ports webhooks and 8443":                                                                    {"targetPort: webhooks\n    rules", "rules"},
		"another webhook has the same type, generateName and webhookPath":                                                                   {"type: MutatingAdmissionWebhook\n    generateName: mshop.example.com", "type: ValidatingAdmissionWebhook\n    webhookPath: /validate\n    generateName: vshop.example.com"},
		`spec.apiservicedefinitions.owned[0]: the API group "authorization.k8s.io" belongs to Kubernetes or to the manager`:                 {"group: stock.example.com", "group: authorization.k8s.io"},
		`spec.apiservicedefinitions.owned[0]: the API group "apps" belongs to Kubernetes or to the manager`:                                 {"group: stock.example.com", "group: apps"},
		"spec.apiservicedefinitions.owned[0]: group or version is missing":                                                                  {"group: stock.example.com, version: v1", "group: stock.example.com"},
		`spec.apiservicedefinitions.owned[1]: the Deployments "shop.server" and "worker" serve the same APIService v1.stock.example.com`:    {"kind: Item, deploymentName: shop.server}", "kind: Item, deploymentName: shop.server}, {group: stock.example.com, version: v1, kind: Box, deploymentName: worker}"},
		"the Deployments shop-server and shop.server would have the same Service shop-server-service":                                       {"- name: worker\n        spec:\n          selector", "- name: shop-server\n        spec:\n          selector"},
	} {
		csv := &v1alpha1.ClusterServiceVersion{}
		text := strings.Replace(hooks, change[0], change[1], 1)
		if text == hooks {
			t.Fatalf("%s: nothing is changed", want)
		}
		if strings.Contains(text, "name: shop-server") {
			text = strings.Replace(text, "deploymentName: shop.server", "deploymentName: shop-server", 1)
		}
		read(t, text, csv)
		if _, err := render.Children(csv, render.Group{Targets: []string{""}}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// Operators provide APIs that projects of Kubernetes define, but none of Kubernetes or of the manager.
func TestReserved(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]bool{
		"": true, "apps": true, "rbac.authorization.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "coordination.k8s.io": true,
		"operators.coreos.com": true, "packages.operators.coreos.com": true, "olm.operatorframework.io": true,
		"external.metrics.k8s.io": false, "snapshot.storage.k8s.io": false, "gateway.networking.k8s.io": false, "kueue.x-k8s.io": false, "example.com": false,
	} {
		if got := render.Reserved(group); got != want {
			t.Errorf("%q: %t, want %t", group, got, want)
		}
	}
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if !render.Reserved(version.Group) {
			t.Errorf("%q is a group of Kubernetes, and not reserved", version.Group)
		}
	}
}

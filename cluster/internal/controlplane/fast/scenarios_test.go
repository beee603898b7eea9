package fast_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	namespaces = "/api/v1/namespaces"
	kinds      = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// scenarios run on both clusters at the same time. Each uses its own objects.
var scenarios = map[string]func(*script){
	"background deletion": func(s *script) {
		family(s, configMaps, "background", "")
		s.do(http.MethodDelete, configMaps+"/background", `{"propagationPolicy":"Background"}`)
		s.gone(configMaps + "/background-child")
	},
	"foreground deletion": func(s *script) {
		family(s, configMaps, "foreground", "example.com/keeps")
		s.do(http.MethodDelete, configMaps+"/foreground", `{"propagationPolicy":"Foreground"}`)
		s.await(configMaps+"/foreground-child", func(_ int, child document) bool { return field(child, "metadata", "deletionTimestamp") != nil })
		s.exists(configMaps + "/foreground")
		s.do(http.MethodPatch, configMaps+"/foreground-child", `{"metadata":{"finalizers":null}}`)
		s.gone(configMaps + "/foreground-child")
		s.gone(configMaps + "/foreground")
	},
	"orphaning deletion": func(s *script) {
		family(s, configMaps, "orphan", "")
		s.do(http.MethodDelete, configMaps+"/orphan", `{"propagationPolicy":"Orphan"}`)
		s.gone(configMaps + "/orphan")
		s.await(configMaps+"/orphan-child", func(_ int, child document) bool { return field(child, "metadata", "ownerReferences") == nil })
	},
	"an owner that never existed": func(s *script) {
		s.do(http.MethodPost, configMaps, owned("v1", "ConfigMap", "dangling", "00000000-0000-0000-0000-000000000001", ""))
		s.gone(configMaps + "/dangling-child")
	},
	"a Deployment and what it owns": func(s *script) {
		const deployments, sets = "/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1/namespaces/default/replicasets?labelSelector=app%3Dtree"
		s.do(http.MethodPost, deployments, deployment("tree"))
		some := func(n int) func(int, document) bool {
			return func(_ int, list document) bool { items, _ := list["items"].([]any); return len(items) == n }
		}
		s.await("/api/v1/namespaces/default/pods?labelSelector=app%3Dtree", func(code int, list document) bool {
			items, _ := list["items"].([]any)
			for _, pod := range items {
				if field(pod.(document), "status", "conditions") == nil { // the scheduler found no node
					return false
				}
			}
			return len(items) == 1
		})
		s.do(http.MethodDelete, deployments+"/tree", `{}`)
		s.await(sets, some(0))
		s.await("/api/v1/namespaces/default/pods?labelSelector=app%3Dtree", some(0))
	},
	"custom resources": func(s *script) {
		const of = "/apis/parity.example.com/v1/namespaces/default/lamps"
		installed(s, "lamp")
		family(s, of, "lamp", "")
		s.do(http.MethodPost, of, `{"apiVersion":"parity.example.com/v1","kind":"Lamp","metadata":{"name":"wrong"},"spec":{"watts":"many"}}`)
		s.do(http.MethodDelete, of+"/lamp", `{"propagationPolicy":"Background"}`)
		s.gone(configMaps + "/lamp-child")
	},
	"a namespace and what is in it": func(s *script) {
		newNamespace(s, "full", "")
		s.do(http.MethodPost, namespaces+"/full/configmaps", `{"metadata":{"name":"plain"}}`)
		s.do(http.MethodPost, namespaces+"/full/configmaps", `{"metadata":{"name":"kept","finalizers":["example.com/keeps"]}}`)
		s.do(http.MethodPost, namespaces+"/full/services", `{"metadata":{"name":"web"},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`)
		s.do(http.MethodPost, "/apis/apps/v1/namespaces/full/deployments", deployment("web"))
		s.do(http.MethodDelete, namespaces+"/full", `{}`)
		s.do(http.MethodPost, namespaces+"/full/configmaps", `{"metadata":{"name":"late"}}`)
		s.gone(namespaces + "/full/configmaps/plain")
		s.gone(namespaces + "/full/services/web")
		s.gone("/apis/apps/v1/namespaces/full/deployments/web")
		s.await(namespaces+"/full", func(_ int, namespace document) bool {
			conditions, _ := field(namespace, "status", "conditions").([]any)
			said := fmt.Sprint(conditions...)
			return strings.Contains(said, "configmaps. has 1 resource instances") && strings.Contains(said, "ContentDeleted") && !strings.Contains(said, "pods") && !strings.Contains(said, "apps")
		})
		s.do(http.MethodPatch, namespaces+"/full/configmaps/kept", `{"metadata":{"finalizers":null}}`)
		s.gone(namespaces + "/full")
	},
	"a namespace with a finalizer": func(s *script) {
		newNamespace(s, "finalized", "example.com/keeps")
		s.do(http.MethodDelete, namespaces+"/finalized", `{}`)
		s.await(namespaces+"/finalized", func(_ int, namespace document) bool { return field(namespace, "spec", "finalizers") == nil })
		s.do(http.MethodPatch, namespaces+"/finalized", `{"metadata":{"finalizers":null}}`)
		s.gone(namespaces + "/finalized")
	},
	"tokens of a ServiceAccount": func(s *script) {
		const accounts, secrets = "/api/v1/namespaces/default/serviceaccounts", "/api/v1/namespaces/default/secrets"
		s.do(http.MethodPost, accounts, `{"metadata":{"name":"robot"}}`)
		s.do(http.MethodPost, secrets, `{"metadata":{"name":"robot","annotations":{"kubernetes.io/service-account.name":"robot"}},"type":"kubernetes.io/service-account-token"}`)
		filled := s.await(secrets+"/robot", func(_ int, secret document) bool { return field(secret, "data", "token") != nil })
		token, _ := field(filled, "data", "token").(string)
		stored, err := base64.StdEncoding.DecodeString(token)
		if err != nil && s.err == nil {
			s.err = err
		}
		s.review(string(stored))
		requested := s.do(http.MethodPost, accounts+"/robot/token", `{"spec":{"audiences":["https://kubernetes.default.svc.cluster.local"]}}`)
		fresh, _ := field(requested, "status", "token").(string)
		s.review(fresh)
		if ca, _ := field(filled, "data", "ca.crt").(string); ca == "" && s.err == nil {
			s.err = fmt.Errorf("the Secret of a token has no certificate authority: %v", filled)
		}
		s.do(http.MethodDelete, accounts+"/robot", `{}`)
		s.gone(secrets + "/robot")
	},
	"who the administrator is": func(s *script) {
		for range 2 { // the second time from the cache
			s.do(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
		}
	},
	"a pod of a system priority class": func(s *script) {
		const pods = "/api/v1/namespaces/kube-system/pods"
		s.exists("/api/v1/namespaces/kube-system/serviceaccounts/default")
		s.do(http.MethodPost, pods, `{"metadata":{"name":"critical"},"spec":{"priorityClassName":"system-node-critical","containers":[{"name":"a","image":"a"}]}}`)
		s.await(pods+"/critical", func(_ int, pod document) bool { return field(pod, "status", "conditions") != nil })
		s.do(http.MethodDelete, pods+"/critical", `{"gracePeriodSeconds":0}`)
		s.gone(pods + "/critical")
	},
	"server-side apply": func(s *script) {
		const applied = configMaps + "/applied"
		body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"a":"%s"}}`
		s.do(http.MethodPatch, applied+"?fieldManager=one", fmt.Sprintf(body, "1"))
		s.do(http.MethodPatch, applied+"?fieldManager=two", fmt.Sprintf(body, "2"))
		s.do(http.MethodPatch, applied+"?fieldManager=two&force=true", fmt.Sprintf(body, "2"))
		s.do(http.MethodDelete, applied, `{}`)
	},
	"aggregated roles": func(s *script) {
		const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
		s.do(http.MethodPost, roles, `{"metadata":{"name":"parity","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},"rules":[{"apiGroups":["parity.example.com"],"resources":["lamps"],"verbs":["get"]}]}`)
		s.await(roles+"/view", func(_ int, role document) bool { return strings.Contains(fmt.Sprint(role["rules"]), "lamps") })
		s.do(http.MethodDelete, roles+"/parity", `{}`)
		s.await(roles+"/view", func(_ int, role document) bool { return !strings.Contains(fmt.Sprint(role["rules"]), "lamps") })
	},
	"a quota": func(s *script) {
		newNamespace(s, "counted", "")
		s.do(http.MethodPost, namespaces+"/counted/resourcequotas", `{"metadata":{"name":"few"},"spec":{"hard":{"configmaps":"2"}}}`)
		s.await(namespaces+"/counted/resourcequotas/few", func(_ int, quota document) bool { return field(quota, "status", "used", "configmaps") == "1" })
		s.do(http.MethodPost, namespaces+"/counted/configmaps", `{"metadata":{"name":"second"}}`)
		s.await(namespaces+"/counted/resourcequotas/few", func(_ int, quota document) bool { return field(quota, "status", "used", "configmaps") == "2" })
		s.do(http.MethodDelete, namespaces+"/counted", `{}`)
		s.gone(namespaces + "/counted")
	},
}

// family creates an owner and a ConfigMap that it owns, which may have a finalizer.
func family(s *script, owners, name, finalizer string) {
	apiVersion, kind := "v1", "ConfigMap"
	if owners != configMaps {
		apiVersion, kind = "parity.example.com/v1", "Lamp"
	}
	owner := s.do(http.MethodPost, owners, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, apiVersion, kind, name))
	uid, _ := field(owner, "metadata", "uid").(string)
	s.do(http.MethodPost, configMaps, owned(apiVersion, kind, name, uid, finalizer))
}

// owned returns the manifest of a ConfigMap that another object owns.
func owned(apiVersion, kind, name, uid, finalizer string) string {
	finalizers := ""
	if finalizer != "" {
		finalizers = fmt.Sprintf(`"finalizers":[%q],`, finalizer)
	}
	return fmt.Sprintf(`{"metadata":{"name":"%s-child",%s"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q,"blockOwnerDeletion":true}]}}`,
		name, finalizers, apiVersion, kind, name, uid)
}

func deployment(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"replicas":1,"selector":{"matchLabels":{"app":%[1]q}},"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`, name)
}

// newNamespace creates a namespace and waits for the objects that every namespace gets.
func newNamespace(s *script, name, finalizer string) {
	finalizers := ""
	if finalizer != "" {
		finalizers = fmt.Sprintf(`,"finalizers":[%q]`, finalizer)
	}
	s.do(http.MethodPost, namespaces, fmt.Sprintf(`{"metadata":{"name":%q%s}}`, name, finalizers))
	s.exists(namespaces + "/" + name + "/serviceaccounts/default")
	s.exists(namespaces + "/" + name + "/configmaps/kube-root-ca.crt")
}

// installed installs a kind and waits until it is served.
func installed(s *script, name string) {
	s.do(http.MethodPost, kinds, fmt.Sprintf(`{"metadata":{"name":"%[1]ss.parity.example.com"},"spec":{"group":"parity.example.com","scope":"Namespaced",
		"names":{"plural":"%[1]ss","singular":%[1]q,"kind":"Lamp"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","description":"What is wanted.","properties":{"watts":{"type":"integer"}}}}}}}]}}`, name))
	s.await("/apis/parity.example.com/v1/namespaces/default/"+name+"s", func(code int, _ document) bool { return code == http.StatusOK })
}

// review records the user of a token. The API server may not have seen the Secret of a new token yet.
func (s *script) review(token string) {
	body := fmt.Sprintf(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":%q}}`, token)
	s.repeat(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", body, func(_ int, review document) bool {
		return field(review, "status", "authenticated") == true
	})
}

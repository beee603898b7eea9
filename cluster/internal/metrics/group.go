package metrics

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientconfig "k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/apis/metrics/install"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// GroupVersion is the served group and version.
var GroupVersion = v1beta1.SchemeGroupVersion

// scheme contains the kinds of the group.
var (
	scheme = runtime.NewScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

func init() {
	install.Install(scheme)
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
}

// Install adds the group to an API server that does not run yet.
func Install(server *genericapiserver.GenericAPIServer) error {
	client, err := newClient(server.LoopbackClientConfig)
	if err != nil {
		return err
	}
	r := &reader{core: client}
	group := genericapiserver.NewDefaultAPIGroupInfo(metrics.GroupName, scheme, metav1.ParameterCodec, codecs)
	group.VersionedResourcesStorageMap[GroupVersion.Version] = map[string]rest.Storage{
		"nodes": nodes{table{nodeCells}, r},
		"pods":  pods{table{podCells}, r},
	}
	return server.InstallAPIGroup(&group)
}

// Describe adds the group's kinds to the API server's OpenAPI documents, which kubectl explain needs. It must be called before
// the server is built.
func Describe(config *genericapiserver.Config) {
	namer := openapi.NewDefinitionNamer(scheme)
	known := config.OpenAPIConfig.GetDefinitionName
	name := func(definition string) (string, spec.Extensions) {
		if name, kinds := known(definition); kinds != nil {
			return name, kinds
		}
		return namer.GetDefinitionName(definition)
	}
	config.OpenAPIConfig.GetDefinitionName, config.OpenAPIV3Config.GetDefinitionName = name, name
}

// newClient returns a client that is not rate limited and uses Protobuf.
func newClient(loopback *clientconfig.Config) (typedcorev1.CoreV1Interface, error) {
	config := clientconfig.CopyConfig(loopback)
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return typedcorev1.NewForConfig(config)
}

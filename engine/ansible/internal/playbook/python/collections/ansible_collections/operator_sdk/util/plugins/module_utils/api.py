"""A client for requests to the API server."""

import json
import os

try:
    from kubernetes import client, config
    from kubernetes.client.exceptions import ApiException
except ImportError:  # reported by connect
    client = None

# AUTH contains the options for the connection. Without them, the operator's proxy is used.
AUTH = dict(
    kubeconfig=dict(type="raw", no_log=True), context=dict(type="str"), host=dict(type="str"), api_key=dict(type="str", no_log=True),
    username=dict(type="str"), password=dict(type="str", no_log=True), validate_certs=dict(type="bool", aliases=["verify_ssl"]),
    ca_cert=dict(type="path", aliases=["ssl_ca_cert"]), client_cert=dict(type="path", aliases=["cert_file"]),
    client_key=dict(type="path", aliases=["key_file"], no_log=False), proxy=dict(type="str"), persist_config=dict(type="bool"),
)


class Failure(Exception):
    """An error for the user."""


def connect(params):
    """Returns a client for the cluster of the options kubeconfig, context, host and api_key."""
    if client is None:
        raise Failure("the Python package kubernetes is not installed: install it (Debian: python3-kubernetes)")
    kubeconfig = params.get("kubeconfig") or os.environ.get("K8S_AUTH_KUBECONFIG") or os.environ.get("KUBECONFIG")
    settings = client.Configuration()
    try:
        if params.get("host"):
            settings.host = params["host"]
        elif isinstance(kubeconfig, dict):
            config.load_kube_config_from_dict(kubeconfig, context=params.get("context"), client_configuration=settings)
        elif kubeconfig:
            config.load_kube_config(config_file=kubeconfig, context=params.get("context"), client_configuration=settings)
        else:
            config.load_incluster_config(settings)
    except Exception as error:
        raise Failure("the cluster cannot be found: %s" % error)
    if params.get("api_key"):
        settings.api_key = {"authorization": "Bearer " + params["api_key"]}
    for option, field in (("validate_certs", "verify_ssl"), ("ca_cert", "ssl_ca_cert"), ("client_cert", "cert_file"),
                          ("client_key", "key_file"), ("username", "username"), ("password", "password"), ("proxy", "proxy")):
        if params.get(option) is not None:
            setattr(settings, field, params[option])
    return Client(client.ApiClient(settings))


class Client:
    """Sends requests with JSON."""

    def __init__(self, api):
        self.api = api

    def send(self, method, path, body=None, content="application/json", missing=False):
        try:
            response = self.api.call_api(
                path, method, header_params={"Content-Type": content, "Accept": "application/json"}, body=body,
                auth_settings=["BearerToken"], _preload_content=False, _return_http_data_only=True,
            )
            return json.loads(response.data)
        except ApiException as error:
            if missing and error.status == 404:
                return None
            raise Failure("%s %s: %s" % (method, path, reason(error)))
        except Exception as error:
            raise Failure("%s %s: %s" % (method, path, error))

    def get(self, path, missing=False):
        return self.send("GET", path, missing=missing)

    def put(self, path, body):
        return self.send("PUT", path, body)

    def post(self, path, body):
        return self.send("POST", path, body)

    def merge(self, path, body):
        return self.send("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        return self.send("DELETE", path)


def reason(error):
    try:
        return json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        return "%s %s" % (error.status, error.reason)


def resource_path(connection, api_version, kind, namespace, name):
    """Returns the path of an object."""
    root = ("/apis/" if "/" in api_version else "/api/") + api_version
    for resource in connection.get(root)["resources"]:
        if resource["kind"] == kind and "/" not in resource["name"]:
            if not resource["namespaced"]:
                return "%s/%s/%s" % (root, resource["name"], name)
            return "%s/namespaces/%s/%s/%s" % (root, namespace or "default", resource["name"], name)
    raise Failure("the API server has no kind %s in %s" % (kind, api_version))

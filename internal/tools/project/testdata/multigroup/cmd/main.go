// Command main is the fleet's operator.
package main

import "example.com/web/internal/controller/apps"

func main() { apps.Look() }

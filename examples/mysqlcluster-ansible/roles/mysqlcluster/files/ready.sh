#!/bin/sh
# Reports whether the server of a pod answers and, if it is a replica, whether it replicates.
set -eu
export MYSQL_PWD="$ROOT_PASSWORD"
status=$(mariadb --no-defaults --socket=/tmp/mysql.sock --user=root --execute='SHOW SLAVE STATUS\G')
[ "${HOSTNAME##*-}" = 0 ] || [ "$(echo "$status" | grep -c -E 'Slave_(IO|SQL)_Running: Yes')" = 2 ]

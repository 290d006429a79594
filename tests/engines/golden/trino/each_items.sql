SELECT i AS name, i FROM (SELECT DISTINCT d.x AS i FROM (SELECT x FROM UNNEST(CAST(json_parse('[["a"],["b"]]') AS ARRAY(ROW(x VARCHAR)))) AS entry (x)) AS d) AS l ORDER BY i

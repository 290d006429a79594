SELECT i AS name, i FROM (SELECT DISTINCT d.x AS i FROM (SELECT JSON_VALUE(entry, '$[0]') AS x FROM UNNEST(JSON_QUERY_ARRAY('[["a"],["b"]]')) AS entry) AS d) AS l ORDER BY i

SELECT sum(length(i)) AS letters FROM (SELECT CAST("user_id" AS VARCHAR) AS u, CAST("item" AS VARCHAR) AS i FROM "shop"."events" WHERE "user_id" IS NOT NULL AND "item" IS NOT NULL) AS t
